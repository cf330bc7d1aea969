package logfile

import (
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/hudifs/hudifs/internal/hfile"
)

// HFileEntries gives the keys and encoded records of an HFile block, undecoded: those of metadata tables, whose schemas are
// no table's. The key field of the records is empty. An error ends it.
func HFileEntries(r io.ReaderAt, b Block) iter.Seq2[hfile.Entry, error] {
	return func(yield func(hfile.Entry, error) bool) {
		if b.Type != HFileData {
			yield(hfile.Entry{}, unreadable(&b))
			return
		}
		f, err := hfile.Open(io.NewSectionReader(r, b.ContentOffset, b.ContentLength), b.ContentLength)
		if err != nil {
			yield(hfile.Entry{}, hfileError(&b, err))
			return
		}
		for e, err := range f.All() {
			if err != nil {
				yield(hfile.Entry{}, hfileError(&b, err))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// hfileError says where the HFile lies from whose beginning an error counts its bytes.
func hfileError(b *Block, err error) error {
	for _, c := range []struct{ inner, outer error }{{hfile.ErrCorrupt, ErrCorrupt}, {hfile.ErrUnsupported, ErrUnsupported}} {
		if errors.Is(err, c.inner) {
			return fmt.Errorf("%w: HFile from byte %d on: %w", c.outer, b.ContentOffset, err)
		}
	}
	return fmt.Errorf("HFile from byte %d on: %w", b.ContentOffset, err)
}
