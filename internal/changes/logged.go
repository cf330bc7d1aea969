package changes

import (
	"context"
	"fmt"
	"path"

	"github.com/hudifs/hudifs/internal/column"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/schema"
)

// logForm is what the records of change logs look like (hudi-common: HoodieCDCUtils.schemaBySupplementalLoggingMode): an operation, the record
// key, unless both images are there, and the images that the mode has, in the schema that the table has now.
type logForm struct {
	image   *schema.Type
	target  *schema.Message
	op, key *schema.Node
	before  *schema.Node // nil where there is none
	after   *schema.Node
	leaves  []int
	values  *assembler
}

func newLogForm(table *schema.Type, mode string) (*logForm, error) {
	f := &logForm{image: schema.WithoutMeta(table)}
	nullable := *f.image
	nullable.Nullable = true
	fields := []schema.Field{schema.Text("op")}
	var images []string
	switch mode {
	case opKeyOnly:
		fields = append(fields, schema.Text("record_key"))
	case dataBefore:
		fields = append(fields, schema.Text("record_key"))
		images = []string{"before"}
	case dataBeforeAfter:
		images = []string{"before", "after"}
	default:
		return nil, fmt.Errorf("%w: supplemental logging mode %s", logfile.ErrUnsupported, mode)
	}
	for _, name := range images {
		fields = append(fields, schema.Field{Name: name, Type: &nullable})
	}
	var err error
	if f.target, err = schema.Target(&schema.Type{Kind: schema.Record, Fields: fields}, nil); err != nil {
		return nil, err
	}
	f.op, f.key = f.target.Field("op"), f.target.Field("record_key")
	f.before, f.after = f.target.Field("before"), f.target.Field("after")
	f.values = newAssembler(f.target)
	for _, n := range f.target.Leaves {
		f.leaves = append(f.leaves, n.Index)
	}
	return f, nil
}

// logged gives what change logs say, and where they have only keys the images from the base files.
func (w *writer) logged(ctx context.Context, s *Step) error {
	if w.log == nil {
		var err error
		if w.log, err = newLogForm(w.Table, w.Mode); err != nil {
			return err
		}
	}
	for _, p := range s.Logs {
		if err := w.changeLog(ctx, s, p); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) changeLog(ctx context.Context, s *Step, p string) error {
	l, err := w.Files.Log(ctx, p)
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // it was read
	for i := range l.Blocks {
		b := &l.Blocks[i]
		if b.Type != logfile.CDCData {
			return fmt.Errorf("%s: %w: expected change records at byte %d, found a %v block", l.Name, logfile.ErrCorrupt, b.Offset, b.Type)
		}
		data, err := logfile.OpenData(l.Reader, *b)
		if err != nil {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
		block := logged{w: w, step: s, name: l.Name}
		if block.vectors, err = data.Columns(w.log.target, w.log.leaves); err != nil {
			return fmt.Errorf("%s: %w", l.Name, err)
		}
		for _, v := range block.vectors {
			block.index = append(block.index, column.NewIndex(v))
		}
		if err := block.write(ctx, data.Rows()); err != nil {
			return err
		}
	}
	return nil
}

// logged are the records of a block of a change log.
type logged struct {
	w       *writer
	step    *Step
	name    string // of the change log
	vectors []*column.Vector
	index   []*column.Index
	at      int
}

func (l *logged) read(leaf int) (*column.Vector, column.Span, error) {
	return l.vectors[leaf], l.index[leaf].Span(l.at, l.at+1), nil
}

func (l *logged) text(n *schema.Node) string {
	v, s, _ := l.read(n.Index)
	if s.V1 == s.V0 {
		return ""
	}
	return string(v.Value(s.V0))
}

// imagesAtOnce is how many images from base files are kept in memory.
const imagesAtOnce = 1 << 16

func (l *logged) write(ctx context.Context, rows int) error {
	for from := 0; from < rows; from += imagesAtOnce {
		to := min(from+imagesAtOnce, rows)
		before, after, err := l.images(ctx, from, to)
		if err != nil {
			return err
		}
		for l.at = from; l.at < to; l.at++ {
			if err := l.record(before, after); err != nil {
				return err
			}
		}
	}
	return nil
}

// images reads the images that the change log lacks, by record key.
func (l *logged) images(ctx context.Context, from, to int) (before, after map[string][]byte, err error) {
	if l.w.log.key == nil {
		return nil, nil, nil
	}
	old, now := map[string]bool{}, map[string]bool{}
	for l.at = from; l.at < to; l.at++ {
		key := l.text(l.w.log.key)
		switch l.text(l.w.log.op) {
		case opInsert:
			now[key] = true
		case opUpdate:
			old[key], now[key] = true, true
		case opDelete:
			old[key] = true
		}
	}
	if l.w.log.before == nil && len(old) > 0 {
		if before, err = l.w.images(ctx, l.step.Base, old, l.w.form.image); err != nil {
			return nil, nil, err
		}
	}
	if len(now) > 0 {
		after, err = l.w.images(ctx, path.Base(l.step.Path), now, l.w.form.row)
	}
	return before, after, err
}

// images are the rows of a base file that have some keys.
func (w *writer) images(ctx context.Context, base string, keys map[string]bool, text func(leafReader) ([]byte, error)) (map[string][]byte, error) {
	in, done, err := w.Files.Slice(ctx, Slice{Base: base}, w.Target)
	if err != nil {
		return nil, err
	}
	defer done()
	in.Keys = keys
	out := make(map[string][]byte, len(keys))
	return out, each(ctx, in, func(r *render.Reader, fate render.Fate) error {
		if fate == render.Dropped {
			return nil
		}
		key, _, err := r.Key(nil)
		if err != nil {
			return err
		}
		t, err := text(r.After)
		out[string(key)] = append([]byte(nil), t...)
		return err
	})
}

// record writes the current record.
func (l *logged) record(before, after map[string][]byte) error {
	f := l.w.log
	op := l.text(f.op)
	if op != opInsert && op != opUpdate && op != opDelete {
		return fmt.Errorf("%s: %w: record %d: expected the operation i, u or d, found %q", l.name, logfile.ErrCorrupt, l.at, op)
	}
	var images [2][]byte
	for i, side := range []struct {
		logged *schema.Node
		base   map[string][]byte
		file   string
		has    bool
	}{{f.before, before, l.step.Base, op != opInsert}, {f.after, after, l.step.Path, op != opDelete}} {
		switch {
		case side.logged != nil:
			text, err := l.image(side.logged)
			if err != nil {
				return err
			}
			images[i] = text
		case side.has:
			key := l.text(f.key)
			text, ok := side.base[key]
			if !ok {
				return fmt.Errorf("%s: %w: the record key %q of the change log %s is not in it", side.file, logfile.ErrCorrupt, key, l.name)
			}
			images[i] = text
		}
	}
	return l.w.add(op, l.step.Instant, images[0], images[1])
}

// image is the text of an image in the change log: the word null where there is none.
func (l *logged) image(n *schema.Node) ([]byte, error) {
	v, err := l.w.log.values.fields([]*schema.Node{n}, l.read)
	if err != nil {
		return nil, err
	}
	if v[0].null {
		return []byte("null"), nil
	}
	return appendRecord(nil, l.w.log.image, v[0].items, bytesHash), nil
}
