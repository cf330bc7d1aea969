package timeline

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
)

func TestMemoIsBounded(t *testing.T) {
	var m memo
	for i := range 100 {
		m.put(memoKey{time: fmt.Sprint(i)}, i, memoBudget/10)
	}
	if m.size > memoBudget || len(m.entries) != len(m.order) || len(m.entries) == 0 {
		t.Errorf("%d bytes in %d entries", m.size, len(m.entries))
	}
	if v, ok := m.get(memoKey{time: "99"}); !ok || v != 99 {
		t.Errorf("got %v, %v", v, ok)
	}
	if m.put(memoKey{time: "big"}, 1, memoBudget); m.size > memoBudget {
		t.Error("an entry above the budget was kept")
	}
}

// everything asks for all that a timeline can tell, and returns the first error.
func everything(ctx context.Context, s storage.Store) error {
	c, err := LoadConfig(ctx, s)
	if err != nil {
		return err
	}
	tl, err := Load(ctx, s, c)
	if err != nil {
		return err
	}
	history, err := tl.History(ctx)
	if err != nil {
		return err
	}
	for _, in := range history {
		if _, err := tl.Commit(ctx, in); err != nil {
			return err
		}
	}
	if _, err := tl.Replaced(ctx); err != nil {
		return err
	}
	if _, err := tl.PendingCompactions(ctx); err != nil {
		return err
	}
	if _, _, err := tl.FirstPendingWrite(ctx); err != nil {
		return err
	}
	_, _, err = tl.SchemaAt(ctx, "")
	return err
}

func TestFaults(t *testing.T) {
	_, layout1 := table(t, 6, files{
		"5.commit": `{"extraMetadata":{"schema":"s"}}`, "6.replacecommit": `{}`, "7.replacecommit.requested": "", "8.compaction.requested": "",
		oldArchive + "1_1-0-1": archiveBlockBytes(t, entry("1", "commit", "COMPLETED", "one")),
	})
	_, layout2 := table(t, 9, files{
		"5_6.commit":              container(t, commitSchema, map[string]any{"partitionToWriteStats": nil, "extraMetadata": map[string]any{"map": map[string]any{"schema": "s"}}}),
		newArchive + "_version_":  "3",
		newArchive + "manifest_3": `{"files":[{"fileName":"a"}]}`,
		newArchive + "a":          historyBytes(t, historyTestRow{Time: "1", Completed: "2", Action: "commit", Metadata: []byte("{}")}),
	})
	for layout, base := range []storage.Store{layout1, layout2} {
		probe := storagetest.NewFaulty(base)
		if err := everything(t.Context(), probe); err != nil {
			t.Fatal(err)
		}
		for _, op := range []storagetest.Op{storagetest.Open, storagetest.List, storagetest.Read} {
			for n := 1; n <= probe.Calls(op); n++ {
				for _, effect := range storagetest.Effects(op) {
					fault := storagetest.Fault{Op: op, N: n, Effect: effect, Delay: time.Millisecond}
					faulty := storagetest.NewFaulty(base, fault)
					checkFault(t, layout+1, fault, everything(t.Context(), faulty))
					faulty.Verify(t)
				}
			}
		}
	}
}

func checkFault(t *testing.T, layout int, fault storagetest.Fault, err error) {
	if err == nil {
		return // another look, another source, or a bit that does not matter
	}
	known := errors.Is(err, ErrNotTable) || errors.Is(err, ErrCorrupt) || errors.Is(err, ErrUnsupported)
	for _, want := range []error{storage.ErrNotExist, storage.ErrPermission, storage.ErrUnavailable, context.Canceled} {
		known = known || errors.Is(err, want)
	}
	if !known && fault.Effect != storagetest.Short {
		t.Errorf("layout %d, %v: %v is none of the errors that callers know", layout, fault, err)
	}
	if errors.Is(err, ErrCorrupt) && (fault.Effect == storagetest.Unavailable || fault.Effect == storagetest.Denied || fault.Effect == storagetest.Cancelled) {
		t.Errorf("layout %d, %v: the store's failure was taken for damage: %v", layout, fault, err)
	}
}
