package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
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
	Other  *question `json:"other,omitempty"`
}

// An answer has problems where two things differ, and failed where the folder
// could not be read.
type answer struct {
	Problems []string `json:"problems"`
	Failed   string   `json:"failed"`
	Broken   string   `json:"broken"` // the comparison itself went wrong
	Rows     int      `json:"rows"`
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
