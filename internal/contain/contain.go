// Package contain keeps a panic to the request in which it happens. A panic in a goroutine without it ends the process, and
// with it every mount's readers.
package contain

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// PanicError is a panic as an error.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v", e.Value) }

// Call runs f. A panic of f becomes a *PanicError.
func Call(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &PanicError{v, debug.Stack()}
		}
	}()
	return f()
}

// Func is f, contained, for the goroutines of an errgroup.
func Func(f func() error) func() error {
	return func() error { return Call(f) }
}

// LogArgs are what a line of a log says of an error: itself, and where a panic within it happened.
func LogArgs(err error) []any {
	if p, ok := errors.AsType[*PanicError](err); ok {
		return []any{"err", err, "stack", string(p.Stack)}
	}
	return []any{"err", err}
}
