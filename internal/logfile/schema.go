package logfile

import (
	"fmt"
	"sync"

	"github.com/hudifs/hudifs/internal/schema"
)

// schemaMemo parses a schema text once, however many blocks of a file have it.
type schemaMemo struct {
	text string
	once sync.Once
	typ  *schema.Type
	err  error
}

func (m *schemaMemo) get() (*schema.Type, error) {
	m.once.Do(func() { m.typ, m.err = schema.ParseAvro(m.text) })
	return m.typ, m.err
}

// recordType is the parsed schema of a block's records.
func (b *Block) recordType() (*schema.Type, error) {
	m := b.schema
	if m == nil {
		m = &schemaMemo{text: b.Schema()}
	}
	t, err := m.get()
	if err != nil {
		return nil, fmt.Errorf("log block at byte %d: %w", b.Offset, err)
	}
	if t.Kind != schema.Record {
		return nil, corrupt(b.Offset, "expected the schema of a record, found that of a %v", t.Kind)
	}
	return b.names.Type(t), nil
}
