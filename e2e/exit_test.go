package e2e

import (
	"path/filepath"
	"testing"
)

// TestExitCodes: scripts rely on them; `hudifs help exit-codes` explains them.
func TestExitCodes(t *testing.T) {
	demo := table(t, "demo")
	pending := table(t, "t9_mor_pending")
	refused := ""
	for _, c := range findCases(t, filepath.Join(env.root, "testdata"), "t9_mor_pending") {
		for _, v := range c.Views {
			if v.Kind == "asof" && v.Error != "" {
				refused = "asof/" + v.Instant
			}
		}
	}
	for _, c := range []struct {
		want int
		args []string
	}{
		{0, []string{"ls", demo, "latest"}},
		{0, []string{"version"}},
		{2, []string{"ls"}},
		{2, []string{"ls", "--no-such-flag", demo}},
		{2, []string{"no-such-command"}},
		{2, []string{"cat", "--format", "xml", demo, "latest"}},
		{3, []string{"ls", t.TempDir()}},
		{3, []string{"cat", pending, refused}},
		{4, []string{"ls", demo, "latest/none"}},
		{4, []string{"cat", demo, "asof/someday"}},
		{1, []string{"umount", t.TempDir()}},
	} {
		r := hudifs(t, c.args...)
		if r.code != c.want {
			t.Errorf("hudifs %q: exit status %d, want %d; it said %q", c.args, r.code, c.want, r.stderr)
		}
		if c.want != 0 {
			wantOneLine(t, c.args[0], r)
		}
	}
}
