package contain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/contain"
)

func TestCall(t *testing.T) {
	other := errors.New("other")
	var none []int
	for _, c := range []struct {
		name  string
		f     func() error
		want  string
		stack string // a part of it
	}{
		{"nothing", func() error { return nil }, "", ""},
		{"an error", func() error { return other }, "other", ""},
		{"a panic", func() error { panic("boom") }, "panic: boom", "contain_test.go"},
		{"a fault", func() error { return fmt.Errorf("%d", none[3]) }, "panic: runtime error: index out of range [3] with length 0", "contain_test.go"},
	} {
		for _, err := range []error{contain.Call(c.f), contain.Func(c.f)()} {
			if c.want == "" {
				if err != nil {
					t.Errorf("%s: %v", c.name, err)
				}
				continue
			}
			if err == nil || err.Error() != c.want {
				t.Errorf("%s: %v, want %s", c.name, err, c.want)
			}
			got := fmt.Sprintln(contain.LogArgs(fmt.Errorf("wrapped: %w", err))...)
			if !strings.Contains(got, c.stack) || strings.Contains(got, "stack") != (c.stack != "") || !strings.HasPrefix(got, "err wrapped: "+c.want) {
				t.Errorf("%s: %s", c.name, got)
			}
		}
	}
}
