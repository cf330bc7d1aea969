package timeline

import (
	"bytes"
)

const (
	containerMagic = "Obj\x01"
	syncLength     = 16
)

var containerHeader = &avroType{kind: avroMap, elem: &avroType{kind: avroBytes}}

// readContainer decodes the first record of an Avro object container file:
//
//	"Obj" 0x01 | map of string to bytes: avro.schema, avro.codec | 16 bytes sync
//	then blocks: long count | long size | size bytes of records | 16 bytes sync
//
// Hudi writes one record and no compression. A container without any record is nil.
func readContainer(file string, data []byte, schemas *avroSchemas) (*avroRecord, error) {
	r := newAvroReader(file, 0, data)
	if string(r.take(int64(len(containerMagic)), "magic")) != containerMagic {
		return nil, corruptf(file, 0, "expected the magic %q", containerMagic)
	}
	header, _ := r.value(containerHeader, 0, true).(map[string]any)
	sync := r.take(syncLength, "sync marker")
	if r.err != nil {
		return nil, r.err
	}
	if codec, _ := header["avro.codec"].([]byte); len(codec) > 0 && string(codec) != "null" {
		return nil, unsupportedf(file, "Avro codec %q, expected null", codec)
	}
	text, _ := header["avro.schema"].([]byte)
	schema, err := schemas.parse(file, int64(len(containerMagic)), string(text))
	if err != nil {
		return nil, err
	}
	if r.pos == len(data) {
		return nil, nil
	}
	count, size := r.long(), r.long()
	start := r.pos
	block := r.take(size, "block")
	if end := r.take(syncLength, "sync marker"); r.err == nil && !bytes.Equal(end, sync) {
		r.pos -= syncLength
		r.fail("expected the sync marker of the header")
	}
	if r.err != nil {
		return nil, r.err
	}
	body := newAvroReader(file, int64(start), block)
	rec, ok := body.value(schema, 0, true).(*avroRecord)
	switch {
	case body.err != nil:
	case !ok:
		return nil, corruptf(file, int64(len(containerMagic)), "expected a record schema")
	case count == 1 && body.pos != len(block):
		body.fail("expected the end of the block")
	}
	return rec, body.err
}
