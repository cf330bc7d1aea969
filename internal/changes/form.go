package changes

import (
	"github.com/hudifs/hudifs/internal/schema"
)

// form is how images become text. Hudi has two ways, and which of them an image takes depends on where it comes from and on the release:
//
//	image                                      0.x      1.x
//	a record of a change log                   Avro     Avro
//	rows of a base file, after the write       row      row
//	rows of a base file, before the write      Avro     row    (logging mode OP_KEY_ONLY)
//	rows that were merged with a log file      Avro     row
//	all rows of a group that is gone           row      row
type form struct {
	table  *schema.Type // with the meta fields
	target *schema.Message
	legacy bool
	order  []int // of the columns in a row
	values *assembler
	buf    []byte
}

func newForm(table *schema.Type, target *schema.Message, legacy bool) *form {
	f := &form{table: table, target: target, legacy: legacy, values: newAssembler(target)}
	names := make([]string, len(target.Fields))
	for i, n := range target.Fields {
		names[i] = n.Name
		f.order = append(f.order, i)
	}
	if legacy {
		f.order = mutableMapOrder(names)
	}
	return f
}

// row writes a row as rows of base files are. The text is valid until the next one is written.
func (f *form) row(read leafReader) ([]byte, error) {
	fields, err := f.values.fields(f.target.Fields, read)
	if err != nil {
		return nil, err
	}
	f.buf = appendRow(f.buf[:0], fields, f.order)
	return f.buf, nil
}

// image writes a row as the releases write one that they had as an Avro record, as 0.x had most.
func (f *form) image(read leafReader) ([]byte, error) {
	if !f.legacy {
		return f.row(read)
	}
	fields, err := f.values.fields(f.target.Fields, read)
	if err != nil {
		return nil, err
	}
	f.buf = appendRecord(f.buf[:0], f.table, fields, stringHash)
	return f.buf, nil
}
