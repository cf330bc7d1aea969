package pqfile

import (
	"errors"
	"fmt"
)

var (
	// ErrCorrupt is wrapped by every error about bytes that are not what the format, or the footer, says they are.
	ErrCorrupt = errors.New("corrupt parquet file")
	// ErrUnsupported is wrapped by every error about a feature that this package does not know.
	ErrUnsupported = errors.New("unsupported parquet feature")
	// ErrTooLarge is wrapped by every error about data that is legal but beyond a limit of this package.
	ErrTooLarge = errors.New("parquet data too large")
	// ErrOverflow says that a file became larger than its promised size: a bound was wrong.
	ErrOverflow = errors.New("parquet file exceeds its promised size")
)

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrCorrupt}, args...)...)
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUnsupported}, args...)...)
}

func tooLarge(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrTooLarge}, args...)...)
}

// contain turns a panic into an error: the decoders of other modules index hostile input in ways that the checks before them
// may not foresee. It must be deferred directly.
func contain(err *error, where string) {
	if p := recover(); p != nil {
		*err = corrupt("%s: decoder panicked: %v", where, p)
	}
}
