package hudi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/timeline"
)

// defaultPartition is the folder of rows whose partition value is null or empty (hudi-common: PartitionPathEncodeUtils);
// up to table version 4 it was "default".
const (
	defaultPartition    = "__HIVE_DEFAULT_PARTITION__"
	oldDefaultPartition = "default"
)

// segments takes a partition path apart into the text of each partition field.
func segments(path string, fields []timeline.PartitionField) ([]string, error) {
	if len(fields) == 1 {
		return []string{valueText(path, fields[0].Name)}, nil
	}
	parts := strings.Split(path, "/")
	if len(parts) == len(fields) {
		for i, f := range fields {
			parts[i] = valueText(parts[i], f.Name)
		}
		return parts, nil
	}
	// One field that is formatted from a time may take several folders.
	var out []string
	extra := len(parts) - len(fields)
	for _, f := range fields {
		n := 1
		if f.Timestamp && extra > 0 {
			n, extra = 1+extra, 0
		}
		if n > len(parts) {
			break
		}
		out = append(out, valueText(strings.Join(parts[:n], "/"), f.Name))
		parts = parts[n:]
	}
	if len(out) != len(fields) || len(parts) > 0 {
		return nil, fmt.Errorf("%w: partition path %q does not divide into the %d partition columns", ErrUnsupported, path, len(fields))
	}
	return out, nil
}

func valueText(segment, field string) string {
	return strings.TrimPrefix(segment, field+"=")
}

// unescape reverses the escapes of partition folders (hudi-common: PartitionPathEncodeUtils.unescapePathName).
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if v, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(v))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// partitionFields adds to a table's schema the partition columns that its files lack, as text where the schema does not know them or where
// their folder is a formatted time.
func partitionFields(table *schema.Type, c *timeline.Config) *schema.Type {
	out := *table
	out.Fields = append([]schema.Field(nil), table.Fields...)
	for _, p := range c.PartitionFields {
		at := -1
		for i, f := range out.Fields {
			if f.Name == p.Name {
				at = i
			}
		}
		switch {
		case at < 0:
			out.Fields = append(out.Fields, schema.Text(p.Name))
		case p.Timestamp:
			out.Fields[at] = schema.Text(p.Name)
		}
	}
	return &out
}

// pathForm says how a partition column that the files lack is put back from the path.
type pathForm uint8

const (
	decoded pathForm = iota
	escaped          // as the folder's name spells it
	missing          // not at all: null
)

// shownAs is the form in which the release that wrote the table shows dropped partition columns: 1.x decoded always,
// 0.x as the folder's name where log files are read too, and not at all in copy-on-write ranges
// (0.15: MergeOnReadSnapshotRelation, IncrementalRelation).
func (f *File) shownAs() pathForm {
	switch c := f.v.st.config; {
	case !f.v.st.rules.Legacy:
		return decoded
	case c.Type == timeline.MergeOnRead && f.v.query.kind != readOptimized:
		return escaped
	case f.v.query.kind == incremental:
		return missing
	}
	return decoded
}

// partitionValues are the values of the partition columns of one partition by leaf of the target, read from its path; nil is null.
func partitionValues(c *timeline.Config, target *schema.Message, path string, form pathForm) (map[int][]byte, error) {
	texts, err := segments(path, c.PartitionFields)
	if err != nil {
		return nil, err
	}
	out := map[int][]byte{}
	for i, p := range c.PartitionFields {
		n := target.Leaf(p.Name)
		if n == nil {
			return nil, fmt.Errorf("%w: partition column %s is not primitive", ErrUnsupported, p.Name)
		}
		if form == missing || texts[i] == defaultPartition || texts[i] == oldDefaultPartition && c.Version < 5 {
			out[n.Index] = nil
			continue
		}
		text := texts[i]
		if form == decoded {
			text = unescape(text)
		}
		v, err := n.Scalar.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%w: partition path %q: %q is no value of column %s, %v", ErrCorrupt, path, text, p.Name, n.Scalar)
		}
		out[n.Index] = v
	}
	return out, nil
}

// fill are the values that partition columns have where a row has none: those of the partition's folder, as for Spark, which takes
// partition columns from there always. It matters for rows whose writer left them out (Spark SQL's MERGE INTO).
func (f *File) fill() map[int][]byte {
	c := f.v.st.config
	if c.DropPartitionColumns || f.partition == "" {
		return nil
	}
	texts, err := segments(f.partition, c.PartitionFields)
	if err != nil {
		return nil // no folder has a value of its own
	}
	out := map[int][]byte{}
	for i, p := range c.PartitionFields {
		n := f.target.Leaf(p.Name)
		if n == nil || p.Timestamp || texts[i] == defaultPartition || texts[i] == oldDefaultPartition && c.Version < 5 {
			continue
		}
		if v, err := n.Scalar.Parse(unescape(texts[i])); err == nil {
			out[n.Index] = v
		}
	}
	return out
}

// takesColumnsFromFolder tells whether the table's writers leave partition columns out of its files, so that the folder has their values. A file into
// which inserts were merged has the columns nevertheless, with nulls for the rows that were there before.
func (f *File) takesColumnsFromFolder() bool {
	return f.v.st.config.DropPartitionColumns && f.partition != ""
}

// admitted tells whether a base file can be served as it is.
func (f *File) admitted(m *pqfile.File) bool {
	if f.takesColumnsFromFolder() {
		return false
	}
	if !f.target.Admits(m.Schema) || !f.target.Admits(f.v.evolved.names(f.base.Instant).Message(m.Schema)) {
		return false
	}
	for leaf := range f.fill() {
		for g := range m.Groups() {
			if n := m.Column(g, leaf).Statistics.NullCount; n.V > 0 {
				return false
			}
		}
	}
	return true
}
