package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestScript runs the scripts of testdata/script: the commands, as a person
// types them. Beside the usual commands of testscript there are
//
//	table NAME [DIR]     unpacks a table of ../testdata, into ./NAME where no DIR is given
//	mounted DIR          waits until something is mounted there; `! mounted` fails where something is
func TestScript(t *testing.T) {
	bin := filepath.Join(tempDir(t), "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(env.bin, filepath.Join(bin, "hudifs")); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		WorkdirRoot:         tempDir(t),
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("HUDIFS_CACHE_DIR", filepath.Join(e.WorkDir, "cache"))
			return nil
		},
		Condition: func(cond string) (bool, error) {
			if cond == "fuse" {
				return env.noFUSE == "", nil // where it must be there, other tests fail
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"table":   scriptTable,
			"mounted": func(ts *testscript.TestScript, neg bool, args []string) { scriptMounted(t, ts, neg, args) },
		},
	})
}

func scriptTable(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		ts.Fatalf("usage: table NAME [DIR]")
	}
	ts.Check(unzip(filepath.Join(env.root, "testdata", args[0], "table.zip"), ts.MkAbs(args[len(args)-1])))
}

func scriptMounted(t *testing.T, ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: mounted DIR")
	}
	dir := ts.MkAbs(args[0])
	in := isMounted(t, dir)
	for n := 0; !in && !neg && n < 100; n++ {
		time.Sleep(50 * time.Millisecond)
		in = isMounted(t, dir)
	}
	if in {
		ts.Defer(func() { _ = exec.Command("fusermount3", "-u", "-z", dir).Run() })
	}
	if in == neg {
		ts.Fatalf("%s mounted: %v", args[0], in)
	}
}
