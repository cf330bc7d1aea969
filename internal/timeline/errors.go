package timeline

import (
	"errors"
	"fmt"

	"github.com/hudifs/hudifs/internal/avro"
)

// The errors that callers tell apart with errors.Is. What the store says (storage.ErrNotExist and its like) comes through
// wrapped, with the file's name.
var (
	ErrNotTable    = errors.New("not a Hudi table")
	ErrUnsupported = errors.New("not supported")
	ErrCorrupt     = errors.New("damaged")
	// ErrMoving: an upgrade is moving the timeline from one layout to the other. It is worth another try, unless the upgrade died.
	ErrMoving = errors.New("the table is being upgraded")
)

// CorruptError says where a file is not what the format demands. It is an ErrCorrupt.
type CorruptError struct {
	File   string // relative to the table's base path
	Offset int64  // in bytes, or -1 where no byte is to blame
	Reason string // what was expected
}

func (e *CorruptError) Error() string {
	if e.Offset < 0 {
		return fmt.Sprintf("%s: %v: %s", e.File, ErrCorrupt, e.Reason)
	}
	return fmt.Sprintf("%s: %v at byte %d: %s", e.File, ErrCorrupt, e.Offset, e.Reason)
}

func (e *CorruptError) Unwrap() error { return ErrCorrupt }

func corruptf(file string, offset int64, format string, args ...any) error {
	return &CorruptError{File: file, Offset: offset, Reason: fmt.Sprintf(format, args...)}
}

func unsupportedf(file, format string, args ...any) error {
	return fmt.Errorf("%s: %w: %s", file, ErrUnsupported, fmt.Sprintf(format, args...))
}

// avroError gives an error of the Avro decoder its file.
func avroError(file string, err error) error {
	if damage, ok := errors.AsType[*avro.Error](err); ok {
		return corruptf(file, damage.Offset, "%s", damage.Reason)
	}
	if errors.Is(err, avro.ErrUnsupported) {
		return fmt.Errorf("%s: %w: %w", file, ErrUnsupported, err)
	}
	return err
}
