package render

import (
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/merge"
)

// sequence is the column by whose two numbers log records are weighed against base rows, nil without one.
func (in *Input) sequence() *schema.Node {
	if in.Sequence == "" {
		return nil
	}
	return in.Target.Find(in.Sequence)
}

// sequenceOf encodes a sequence such as 000003.1000, file and position of a MySQL log: it counts as two numbers
// (hudi-common: MySqlDebeziumAvroPayload).
func sequenceOf(v []byte, ok bool) []byte {
	file, position, cut := strings.Cut(string(v), ".")
	f, errF := strconv.ParseInt(file, 10, 64)
	p, errP := strconv.ParseInt(position, 10, 64)
	if !ok || !cut || errF != nil || errP != nil {
		return merge.AppendNull(nil)
	}
	return merge.AppendInt(merge.AppendInt(nil, f), p)
}
