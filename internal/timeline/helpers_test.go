package timeline

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"
	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/storage/storagetest"
)

// files are the files of a table by path.
type files = map[string]string

// propertiesText makes a hoodie.properties of a table t, with its checksum.
func propertiesText(lines ...string) string {
	return strings.Join(append([]string{
		"#Properties saved some day", "hoodie.table.name=t",
		fmt.Sprintf("hoodie.table.checksum=%d", crc32.ChecksumIEEE([]byte(".t"))),
	}, lines...), "\n") + "\n"
}

func mem(f files) *storagetest.Mem {
	m := storagetest.NewMem(nil)
	for _, name := range slices.Sorted(maps.Keys(f)) {
		m.Put(name, []byte(f[name]))
	}
	return m
}

// table loads a table of a version with files in its timeline folder; other folders are named with a leading slash.
func table(t testing.TB, version int, f files) (*Timeline, *storagetest.Mem) {
	t.Helper()
	all := files{propertiesFile: propertiesText(fmt.Sprint("hoodie.table.version=", version))}
	for name, data := range f {
		switch {
		case strings.HasPrefix(name, "/"):
			all[name[1:]] = data
		case version < 8:
			all[".hoodie/"+name] = data
		default:
			all[".hoodie/timeline/"+name] = data
		}
	}
	m := mem(all)
	return loadTable(t, m), m
}

func loadTable(t testing.TB, m *storagetest.Mem) *Timeline {
	t.Helper()
	c, err := LoadConfig(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	tl, err := Load(t.Context(), m, c)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

func container(t testing.TB, schema string, record map[string]any) string {
	t.Helper()
	var buf bytes.Buffer
	w, err := goavro.NewOCFWriter(goavro.OCFConfig{W: &buf, Schema: schema})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Append([]any{record}); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

const (
	replacePlanSchema = `{"type":"record","name":"HoodieRequestedReplaceMetadata","fields":[{"name":"operationType","type":["null",{"type":"string","avro.java.string":"String"}]}]}`
	cleanSchema       = `{"type":"record","name":"HoodieCleanMetadata","fields":[{"name":"earliestCommitToRetain","type":"string"}]}`
	entrySchema       = `{"type":"record","name":"HoodieArchivedMetaEntry","fields":[
		{"name":"hoodieCommitMetadata","type":["null",{"type":"record","name":"HoodieCommitMetadata","fields":[
			{"name":"operationType","type":["null","string"]},
			{"name":"extraMetadata","type":["null",{"type":"map","values":"string"}]}]}]},
		{"name":"commitTime","type":["null","string"]},
		{"name":"actionType","type":["null","string"]},
		{"name":"actionState","type":["null","string"]}]}`
)

func text(s string) any { return map[string]any{"string": s} }

// entry is one HoodieArchivedMetaEntry of entrySchema.
func entry(time, action, state, schema string) map[string]any {
	e := map[string]any{"hoodieCommitMetadata": nil, "commitTime": text(time), "actionType": text(action), "actionState": text(state)}
	if schema != "" {
		e["hoodieCommitMetadata"] = map[string]any{"HoodieCommitMetadata": map[string]any{
			"operationType": text("UPSERT"), "extraMetadata": map[string]any{"map": map[string]any{"schema": schema}},
		}}
	}
	return e
}

// archiveBlockBytes is a log block of Avro data.
func archiveBlockBytes(t testing.TB, entries ...map[string]any) string {
	t.Helper()
	codec, err := goavro.NewCodec(entrySchema)
	if err != nil {
		t.Fatal(err)
	}
	content := be32(be32(nil, 3), len(entries))
	for _, e := range entries {
		datum, err := codec.BinaryFromNative(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		content = append(be32(content, len(datum)), datum...)
	}
	block := be32(be32(be32(be32(be32(nil, 1), 3), 1), 2), len(entrySchema))
	block = append(block, entrySchema...)
	block = append(be32(be32(block, 0), len(content)), content...)
	block = be32(block, 0)
	size := len(block) + 8
	all := be32(be32([]byte("#HUDI#"), 0), size)
	return string(be32(be32(append(all, block...), 0), size+6))
}

func be32(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }

type historyTestRow struct {
	Time      string `parquet:"instantTime"`
	Completed string `parquet:"completionTime"`
	Action    string `parquet:"action"`
	Metadata  []byte `parquet:"metadata,optional"`
	Plan      []byte `parquet:"plan,optional"`
	Version   int32  `parquet:"version"`
}

func historyBytes(t testing.TB, rows ...historyTestRow) string {
	t.Helper()
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[historyTestRow](&buf)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.String()
}

// names writes instants as text, one each: time, action, state, and the completion time of those that have one of their own.
func names(instants []Instant) []string {
	var out []string
	for _, in := range instants {
		s := fmt.Sprintf("%s %s %s", in.Time, in.Action, in.State)
		if in.CompletionTime != "" && in.CompletionTime != in.Time {
			s += " " + in.CompletionTime
		}
		if in.Archived {
			s += " archived"
		}
		out = append(out, s)
	}
	return out
}

// commitSchema is a HoodieCommitMetadata of a few fields.
const commitSchema = `{"type":"record","name":"HoodieCommitMetadata","fields":[
	{"name":"partitionToWriteStats","type":["null",{"type":"map","values":{"type":"array","items":{"type":"record","name":"HoodieWriteStat","fields":[
		{"name":"fileId","type":["null","string"]},{"name":"prevCommit","type":["null","string"]},{"name":"numWrites","type":["null","long"]}]}}}]},
	{"name":"extraMetadata","type":["null",{"type":"map","values":{"type":"string","avro.java.string":"String"}}]}]}`
