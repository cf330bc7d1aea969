package views_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
	"github.com/hudifs/hudifs/views"
)

// stuck is a store in which some folders are not listed before it is told to go on, or the caller gives up.
type stuck struct {
	storage.Store
	stuck   func(dir string) bool
	reached chan string
	goOn    chan struct{}
}

func (s *stuck) List(ctx context.Context, dir string) ([]storage.Entry, error) {
	if s.stuck(dir) {
		select {
		case s.reached <- dir:
		default:
		}
		select {
		case <-s.goOn:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Store.List(ctx, dir)
}

// Who waits for a slow storage keeps nobody else waiting: not those who need nothing of it, and not those who give up.
func TestSlowStorage(t *testing.T) {
	f := load(t, "t9_mor_logs")
	m := storagetest.NewMem(nil)
	for _, at := range []string{"fast", "slow"} {
		for name, data := range f.files {
			m.Put(at+"/"+name, data)
		}
	}
	s := &stuck{Store: m, stuck: func(dir string) bool { return strings.HasPrefix(dir, "slow/north") }, reached: make(chan string, 1), goOn: make(chan struct{})}
	tree := openTree(t, s, &views.Options{NoMetadataTable: true, PollInterval: time.Nanosecond})
	mustFind(t, tree.Root(), "slow")
	latest := mustFind(t, tree.Root(), "slow/latest").(views.Dir)
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := latest.Entries(t.Context()); err != nil {
			t.Errorf("the one who waits: %v", err)
		}
	})
	<-s.reached

	// Others who need the same may give up.
	for range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if _, err := latest.Lookup(ctx, "north"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gives up: %v", err)
		}
		cancel()
	}
	for _, at := range []string{"slow/.hudi/status", "slow/.hudi/configuration", "slow/.hudi/timeline", "fast/.hudi/partitions", "fast/.hudi/schema"} {
		if data, err := content(t.Context(), mustFind(t, tree.Root(), at)); err != nil || len(data) == 0 {
			t.Errorf("%s: %d bytes, %v", at, len(data), err)
		}
	}
	for at, want := range map[string]string{"slow": "latest", "slow/asof": f.Timeline[0].Requested, "slow/.hudi": "status", "fast/latest": "north", "": "slow"} {
		n := views.Node(tree.Root())
		if at != "" {
			n = mustFind(t, tree.Root(), at)
		}
		if got := strings.Join(names(t, n), " "); !strings.Contains(got, want) {
			t.Errorf("%q has %s", at, got)
		}
	}
	if _, err := latest.Attr(t.Context()); err != nil {
		t.Error(err)
	}
	if err := tree.Refresh(t.Context()); err != nil {
		t.Error(err)
	}
	close(s.goOn)
	waiting.Wait()
	if got := rows(t, latest); got != *f.Views[0].Rows {
		t.Errorf("%d rows, want %d", got, *f.Views[0].Rows)
	}
}
