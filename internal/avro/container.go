package avro

import (
	"bytes"
	"fmt"
)

// Magic is what every container begins with.
const Magic = "Obj\x01"

const syncLength = 16

var containerHeader = &Type{Kind: Map, elem: &Type{Kind: Bytes}}

// Container decodes the first record of an object container file, of which Hudi writes one without compression. A container
// without any record is nil.
func Container(data []byte, schemas *Schemas) (*Record, error) {
	r := NewReader(0, data)
	if string(r.Take(int64(len(Magic)), "magic")) != Magic {
		return nil, corrupt(0, "expected the magic %q", Magic)
	}
	header, _ := r.Value(containerHeader).(map[string]any)
	sync := r.Take(syncLength, "sync marker")
	if r.err != nil {
		return nil, r.err
	}
	if codec, _ := header["avro.codec"].([]byte); len(codec) > 0 && string(codec) != "null" {
		return nil, fmt.Errorf("%w: Avro codec %q, expected null", ErrUnsupported, codec)
	}
	text, _ := header["avro.schema"].([]byte)
	schema, err := schemas.Parse(int64(len(Magic)), string(text))
	if err != nil {
		return nil, err
	}
	if r.pos == len(data) {
		return nil, nil
	}
	count, size := r.long(), r.long()
	start := r.pos
	block := r.Take(size, "block")
	if end := r.Take(syncLength, "sync marker"); r.err == nil && !bytes.Equal(end, sync) {
		r.pos -= syncLength
		r.fail("expected the sync marker of the header")
	}
	if r.err != nil {
		return nil, r.err
	}
	body := NewReader(int64(start), block)
	rec := body.Record(schema)
	if body.err == nil && count == 1 && body.pos != len(block) {
		body.fail("expected the end of the block")
	}
	return rec, body.err
}
