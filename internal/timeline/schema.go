package timeline

import (
	"context"
	"slices"
)

// CreateSchemaSource is the source that SchemaAt names for a schema from hoodie.properties.
const CreateSchemaSource = "hoodie.table.create.schema"

// SchemaAt returns the table's schema as of the instant q ("" for the latest) as Avro JSON without meta fields, and where
// it is from: the time of a write, or CreateSchemaSource. Both are "" where nothing but a data file can tell.
//
// It is the schema of the newest completed write, at most q, that recorded one and is no table service, which may carry a
// stale one (hudi-common: TableSchemaResolver); active and archived instants count alike. Only the commits that are looked
// at need to be sound.
func (t *Timeline) SchemaAt(ctx context.Context, q string) (avroJSON, source string, err error) {
	active := t.CompletedWrites()
	if avroJSON, source, err = t.newestSchema(ctx, active, q); err != nil || avroJSON != "" {
		return avroJSON, source, err
	}
	history, err := t.History(ctx)
	if err != nil {
		return "", "", err
	}
	var archived []Instant
	for _, in := range history {
		if in.Archived && in.completedWrite() {
			archived = append(archived, in)
		}
	}
	if avroJSON, source, err = t.newestSchema(ctx, archived, q); err != nil || avroJSON != "" {
		return avroJSON, source, err
	}
	if t.config.CreateSchema != "" {
		return t.config.CreateSchema, CreateSchemaSource, nil
	}
	return "", "", nil
}

func (t *Timeline) newestSchema(ctx context.Context, writes []Instant, q string) (avroJSON, source string, err error) {
	for _, in := range slices.Backward(writes) {
		if q != "" && in.Time > q {
			continue
		}
		c, err := t.CommitHead(ctx, in)
		if err != nil {
			return "", "", err
		}
		switch c.OperationType {
		case "CLUSTER", "COMPACT", "INDEX", "LOG_COMPACT":
			continue
		}
		if c.Schema() != "" {
			return c.Schema(), in.Time, nil
		}
	}
	return "", "", nil
}
