// Package rowdiff finds out which rows differ between two states of a table, and writes them with their values before and after.
//
//	before  (a, 1) (b, 2) (c, 3)      _hudi_op  before  after
//	after   (a, 1) (b, 7) (d, 4)      u         (b, 2)  (b, 7)
//	                                  d         (c, 3)  null
//	                                  i         null    (d, 4)
//
// Rows are matched by their key, and equal where all columns but Hudi's meta fields are: a row that was only written again is no
// difference. Where a key occurs more than once, rows that are equal on both sides cancel each other one for one; if one row is left on either side
// that is an update, otherwise the rest are deletes and inserts.
//
// Of each row only hashes are compared: 128 bits of the key and 64 of the values, under seeds of the process's own. They are kept in memory up to a
// budget, beyond that in a temporary file, of which the keys are then matched in several passes. The rows come out in the order of the state before,
// inserts behind them in the order of the state after, whatever the hashes are: the same states give the same bytes every time.
package rowdiff

import (
	"context"
	"fmt"
	"io"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// Version numbers the bytes that are written: it grows whenever the same states would give other ones.
const Version = 1

// The columns of a difference. The table's own lie within Before and After, so none can clash with them.
const (
	Op     = "_hudi_op"
	Before = "before"
	After  = "after"
)

// The values of Op.
const (
	opInsert = "i"
	opUpdate = "u"
	opDelete = "d"
)

// defaultMemory is for Input.Memory.
const defaultMemory = 64 << 20

// Schema is that of the difference of two states with a schema.
func Schema(table *schema.Message) (*schema.Message, error) {
	return schema.Images(Op, []string{Before, After}, table)
}

// Rows are rows that can be read column by column, row group by row group.
type Rows interface {
	Groups() int
	Rows(group int) int
	// Column gives a column of a group: vectors of whole rows, each valid until take returns.
	Column(group int, leaf *schema.Node, take func(*column.Vector) error) error
}

// Source opens some of the rows of a state: the same ones each time. done closes them.
type Source func(ctx context.Context) (rows Rows, done func(), err error)

// Input are two states of a table.
type Input struct {
	Table  *schema.Message // of the rows of both
	Output *schema.Message // what Schema makes of it
	Key    []int           // the leaves of Table that make up a row's key
	// Before and After are the rows of the two states.
	Before, After []Source
	// Memory is about how many bytes the hashes of keys and values may take; 0 is 64 MiB. Besides, each row that differs takes 16
	// bytes, and all rows with one key are in memory at once. It has no influence on what is written.
	Memory int64
}

// none stands for the row that a state does not have.
const none = -1

// pair is a difference: the row's number in each state.
type pair struct{ before, after int64 }

// Result are the differences that were found.
type Result struct {
	pairs []pair
	// rows has the number of rows of each source, by state.
	rows [2][]int64
	// groupRows is how many differences make a row group.
	groupRows int
}

// Rows is the number of differences.
func (r *Result) Rows() int { return len(r.pairs) }

// Memory is about how many bytes the result takes.
func (r *Result) Memory() int64 { return 16*int64(len(r.pairs)+len(r.rows[0])+len(r.rows[1])) + 256 }

func (in *Input) sides() [2][]Source { return [2][]Source{in.Before, in.After} }

// Compare finds the differences.
func (in *Input) Compare(ctx context.Context) (*Result, error) {
	s := newScan(in)
	defer s.imprints.close()
	for side, sources := range in.sides() {
		for i, open := range sources {
			if err := s.source(ctx, side, open); err != nil {
				return nil, fmt.Errorf("part %d of the state %s: %w", i, []string{Before, After}[side], err)
			}
		}
	}
	r := &s.result
	var err error
	if r.pairs, err = s.imprints.match(ctx, s.total(0)); err != nil {
		return nil, err
	}
	r.groupRows = s.groupRows()
	return r, nil
}

// Measure is the size of the file that Write writes.
func (in *Input) Measure(ctx context.Context, r *Result) (int64, error) {
	f := pqfile.NewWriter(nowhere{}, in.Output)
	if err := in.write(ctx, f, r); err != nil {
		return 0, err
	}
	return f.Needed()
}

type nowhere struct{}

func (nowhere) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// Write writes the differences as a Parquet file of size bytes.
func (in *Input) Write(ctx context.Context, r *Result, w io.WriterAt, size int64) error {
	f := pqfile.NewWriter(w, in.Output)
	if err := in.write(ctx, f, r); err != nil {
		return err
	}
	return f.Finish(size)
}
