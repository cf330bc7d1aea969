package changes_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"

	"github.com/hudifs/hudifs/internal/changes"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/schema"
)

// baseRow is a row of a base file.
type baseRow struct {
	Commit string `parquet:"_hoodie_commit_time,optional"`
	Key    string `parquet:"_hoodie_record_key,optional"`
	Value  string `parquet:"v,optional"`
}

// baseFiles are base files of rows by name.
type baseFiles map[string][]baseRow

func (f baseFiles) Slice(_ context.Context, s changes.Slice, target *schema.Message) (*render.Input, func(), error) {
	var b bytes.Buffer
	if err := parquet.Write(&b, f[s.Base]); err != nil {
		return nil, nil, err
	}
	file, err := pqfile.Open(bytes.NewReader(b.Bytes()), int64(b.Len()))
	return &render.Input{Target: target, Base: file, BaseName: s.Base}, func() {}, err
}

type buffer []byte

func (b buffer) WriteAt(p []byte, off int64) (int, error) { return copy(b[off:], p), nil }

func (baseFiles) Log(context.Context, string) (*changes.ChangeLog, error) { return nil, io.EOF }

// A base file that took the place of another without a change log is compared with it, with few of its keys at once where they are many.
func TestRewritten(t *testing.T) {
	files := baseFiles{}
	var want []string
	text := func(commit, key, value string) string {
		return fmt.Sprintf(`{"_hoodie_commit_time":%q,"_hoodie_record_key":%q,"v":%q}`, commit, key, value)
	}
	for i := range 400 {
		key := fmt.Sprintf("key-%03d", i)
		old, now := baseRow{"001", key, "before"}, baseRow{"002", key, fmt.Sprint("after ", i)}
		switch i % 4 {
		case 0: // stays
			files["old"], files["new"] = append(files["old"], old), append(files["new"], old)
		case 1:
			files["old"], files["new"] = append(files["old"], old), append(files["new"], now)
			want = append(want, fmt.Sprint("u 002 ", text("001", key, "before"), " ", text("002", key, now.Value)))
		case 2:
			files["old"] = append(files["old"], old)
			want = append(want, fmt.Sprint("d 002 ", text("001", key, "before"), " "))
		case 3:
			files["new"] = append(files["new"], now)
			want = append(want, fmt.Sprint("i 002  ", text("002", key, now.Value)))
		}
	}
	slices.Sort(want)
	table := &schema.Type{Kind: schema.Record, Fields: []schema.Field{schema.Text(schema.CommitTime), schema.Text(schema.RecordKey), schema.Text("v")}}
	target, err := schema.Target(table, nil)
	if err != nil {
		t.Fatal(err)
	}
	output, err := changes.Schema()
	if err != nil {
		t.Fatal(err)
	}
	for _, most := range []int{64 << 20, 20_000, 500} {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			defer changes.CompareAtOnce(most)()
			g := &changes.Group{Files: files, Table: table, Target: target, Output: output, Steps: []changes.Step{
				{Kind: changes.Rewritten, Instant: "002", Path: path.Join("p", "new"), Base: "old"},
			}}
			size, err := g.Measure(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			b := make(buffer, size)
			if err := g.Write(t.Context(), b, size); err != nil {
				t.Fatal(err)
			}
			type change struct {
				Op     string `parquet:"op,optional"`
				Time   string `parquet:"ts_ms,optional"`
				Before string `parquet:"before,optional"`
				After  string `parquet:"after,optional"`
			}
			records, err := parquet.Read[change](bytes.NewReader(b), size)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range records {
				got = append(got, fmt.Sprint(r.Op, " ", r.Time, " ", r.Before, " ", r.After))
			}
			slices.Sort(got)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("-want +got:\n%s", d)
			}
		})
	}
}
