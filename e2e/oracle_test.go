package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// An oracle is a running compare.py, which answers one question at a time.
type oracle struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// A question is what compare.py is asked; see there.
type question struct {
	Do     string    `json:"do"`
	Engine string    `json:"engine,omitempty"`
	Dir    string    `json:"dir,omitempty"`
	Golden string    `json:"golden,omitempty"`
	Ignore []string  `json:"ignore,omitempty"`
	Text   []string  `json:"text,omitempty"`
	Types  bool      `json:"types,omitempty"`
	SQL    string    `json:"sql,omitempty"`
	Files  int       `json:"files,omitempty"`
	Other  *question `json:"other,omitempty"`
}

// An answer has problems where two things differ, and failed where the folder
// could not be read.
type answer struct {
	Problems []string `json:"problems"`
	Failed   string   `json:"failed"`
	Broken   string   `json:"broken"` // the comparison itself went wrong
	Rows     int      `json:"rows"`
	Values   []string `json:"values"`
}

// ask puts a question to an oracle that is free.
func ask(t *testing.T, q question) answer {
	t.Helper()
	needEngines(t)
	o := <-env.oracles
	defer func() { env.oracles <- o }()
	a, err := o.ask(q)
	if err != nil {
		o.stop()
		t.Fatalf("compare.py, asked %+v: %v", q, err)
	}
	if a.Broken != "" {
		t.Fatalf("compare.py, asked %+v: %s", q, a.Broken)
	}
	return a
}

func (o *oracle) ask(q question) (answer, error) {
	var a answer
	if err := o.start(); err != nil {
		return a, err
	}
	line, err := json.Marshal(q)
	if err != nil {
		return a, err
	}
	if _, err := o.in.Write(append(line, '\n')); err != nil {
		return a, err
	}
	reply, err := o.out.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("it died: %w", err)
	}
	return a, json.Unmarshal(reply, &a)
}

func (o *oracle) start() error {
	if o.cmd != nil {
		return nil
	}
	cmd := exec.Command(env.python, "compare.py")
	cmd.Env = append(os.Environ(), "TZ=UTC")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	o.cmd, o.in, o.out = cmd, in, bufio.NewReader(out)
	return nil
}

func (o *oracle) stop() {
	if o.cmd == nil {
		return
	}
	o.in.Close()
	_ = o.cmd.Wait()
	o.cmd = nil
}

func stopOracles() {
	for range cap(env.oracles) {
		(<-env.oracles).stop()
	}
}

// same fails the test unless two sources have the same rows.
func same(t *testing.T, q question) {
	t.Helper()
	q.Do = "same"
	a := ask(t, q)
	if a.Failed != "" {
		t.Errorf("%s can't read %s: %s", q.Engine, q.Dir, a.Failed)
	}
	for _, p := range a.Problems {
		t.Error(p)
	}
}

// TestOracle checks the judge: it must find equal what is, and tell apart what
// is not, whatever the engine.
func TestOracle(t *testing.T) {
	needEngines(t)
	folder := func(golden string) string {
		dir := tempDir(t)
		data, err := os.ReadFile(filepath.Join(env.root, "testdata", golden))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x.parquet"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	golden := filepath.Join(env.root, "testdata", "t9_types", "golden", "00.parquet")
	itself := folder("t9_types/golden/00.parquet")
	earlier := folder("t9_types/golden/01.parquet")
	other := folder("t9_mor_logs/golden/00.parquet")
	for _, engine := range []string{"pyarrow", "duckdb", "polars", "pyarrow-default", "pandas-default", "duckdb-default"} {
		q := question{Do: "golden", Engine: engine, Golden: golden}
		q.Dir = itself
		if a := ask(t, q); a.Failed != "" || len(a.Problems) > 0 || a.Rows != 13 {
			t.Errorf("%s, the same file: got %+v", engine, a)
		}
		q.Dir = earlier
		if a := ask(t, q); a.Failed != "" || len(a.Problems) == 0 {
			t.Errorf("%s, other rows: got %+v", engine, a)
		}
		q.Dir = other
		if a := ask(t, q); a.Failed != "" || len(a.Problems) == 0 {
			t.Errorf("%s, other columns: got %+v", engine, a)
		}
		q.Dir = filepath.Join(other, "none")
		if a := ask(t, q); a.Failed == "" {
			t.Errorf("%s, no folder: got %+v", engine, a)
		}
	}
	mixed := folder("t9_types/golden/00.parquet")
	if err := os.Rename(filepath.Join(mixed, "x.parquet"), filepath.Join(other, "y.parquet")); err != nil {
		t.Fatal(err)
	}
	if a := ask(t, question{Do: "golden", Engine: "pyarrow", Golden: golden, Dir: other}); len(a.Problems) == 0 {
		t.Errorf("files of two schemas in one view: got %+v", a)
	}
}
