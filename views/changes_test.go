package views_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/storage/storagetest"
	"github.com/hudifs/hudifs/views"
)

// TestChanges looks for change data of a table that logs changes.
func TestChanges(t *testing.T) {
	f := load(t, "t9_changes_mor")
	root := openTree(t, storagetest.NewMem(f.files), nil).Root()
	if !slices.Contains(names(t, root), "cdc") {
		t.Errorf("the table's folder has %q, want cdc among them", names(t, root))
	}
	dir := mustFind(t, root, "cdc")
	if x, err := dir.Xattrs(t.Context()); err != nil || len(x) > 0 {
		t.Errorf("attributes %q, %v", x, err)
	}
	if _, err := find(t.Context(), dir, "nonsense"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a name that is no range: %v", err)
	}
	if got := names(t, mustFind(t, dir, "latest..latest")); len(got) != 1 || got[0] != "empty.parquet" {
		t.Errorf("a range without changes has %q, want an empty file", got)
	}
}

// TestNoChanges looks for change data of a table that does not log changes: the folder can be looked up, and says why that is all.
func TestNoChanges(t *testing.T) {
	f := load(t, "t9_mor_logs")
	root := openTree(t, storagetest.NewMem(f.files), nil).Root()
	dir := mustFind(t, root, "cdc").(views.Dir)
	_, err := dir.Entries(t.Context())
	if !errors.Is(err, views.ErrRefused) || !strings.Contains(err.Error(), "does not log changes") {
		t.Errorf("listing: %v", err)
	}
	if x, xerr := dir.Xattrs(t.Context()); xerr != nil || x["user.hudi.error"] != err.Error() {
		t.Errorf("user.hudi.error is %q, %v, listing says %q", x["user.hudi.error"], xerr, err)
	}
	if !refused(t, mustFind(t, root, "cdc/000..latest"), nil) {
		t.Error("a range is not refused")
	}
}
