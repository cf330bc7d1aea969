package views

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hudifs/hudifs/hudi"
	"github.com/hudifs/hudifs/internal/lazy"
)

// viewDir is the folder of a view. It never changes: what the name leads to after a commit is another folder.
type viewDir struct {
	tab   *table
	view  *hudi.View
	inode uint64

	top lazy.Value[*partition]
}

func newViewDir(tab *table, v *hudi.View) *viewDir {
	return &viewDir{tab: tab, view: v, inode: tab.inode(v.Query(), v.State())}
}

// partition is a folder of a view: its files, and the partition folders below it. It is not changed once made.
type partition struct {
	dir     *viewDir
	path    string // below the view
	folders map[string]*partition
	files   []file // by name
	modTime time.Time
	entries func() []Entry
}

func (d *viewDir) load(ctx context.Context) (*partition, error) {
	top, err := d.top.Get(ctx, d.list)
	if errors.Is(err, ErrStale) {
		// The kernel looks the folder's own name up once more when it hears that. By then it should lead further.
		err = errors.Join(err, d.tab.lookAgain(ctx))
	}
	return top, err
}

func (d *viewDir) list(ctx context.Context) (*partition, error) {
	partitions, err := d.view.Partitions(ctx)
	if err != nil {
		return nil, classify(err)
	}
	top := newPartition(d, "")
	layout := d.tab.layout()
	for _, p := range partitions {
		at := top
		for _, name := range layout.folders(p) {
			at = at.folder(name)
		}
		files, err := d.view.Files(ctx, p)
		if err != nil {
			return nil, classify(err)
		}
		at.add(files, layout.form == "flat")
	}
	top.modTime = d.view.ModTime()
	top.finish()
	return top, nil
}

func newPartition(d *viewDir, path string) *partition {
	p := &partition{dir: d, path: path}
	p.entries = sync.OnceValue(p.list)
	return p
}

func (p *partition) folder(name string) *partition {
	if p.folders[name] == nil {
		if p.folders == nil {
			p.folders = map[string]*partition{}
		}
		p.folders[name] = newPartition(p.dir, join(p.path, name))
	}
	return p.folders[name]
}

// add puts the files of a partition into the folder. Where the folder stands for one partition each has its own name. Without partition
// folders it has one that no other partition's file can have, whether there is such a file or not: so it is the same on every host and at
// every time.
func (p *partition) add(files []*hudi.File, flat bool) {
	p.files = slices.Grow(p.files, len(files))
	for _, f := range files {
		added := file{tab: p.dir.tab, file: f, name: f.Name()}
		if flat && f.Partition() != "" {
			added.name = added.distinctName()
		}
		p.files = append(p.files, added)
	}
}

// distinctName is a name for the file that says what its bytes are, partition included: that which files that are rendered have anyway.
func (f *file) distinctName() string {
	id := f.file.ID()
	return fmt.Sprintf("%s_%x_%s.parquet", f.file.Details().FileGroup, id[:6], f.file.Instant())
}

// sort orders the files by name. Partitions that differ only in how they spell their value meet in one folder; of two equal names there, the
// file of the partition that is spelled as the folder keeps it.
func (p *partition) sort() {
	order := func(a, b file) int { return strings.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(p.files, order) {
		slices.SortStableFunc(p.files, order)
	}
	twice := false
	for i := 1; i < len(p.files); i++ {
		holder, next := &p.files[i-1], &p.files[i]
		if holder.name != next.name {
			continue
		}
		twice = true
		if next.file.Partition() != p.path {
			*holder, *next = *next, *holder
		}
		holder.name = holder.distinctName()
	}
	if twice {
		slices.SortFunc(p.files, order)
	}
}

// finish orders the files, and finds the modification times: a folder has that of the newest file below it.
func (p *partition) finish() {
	p.sort()
	last := ""
	for i := range p.files {
		f := p.files[i].file
		if instant := f.Instant(); i == 0 || instant != last {
			last = instant
			if t := f.ModTime(); t.After(p.modTime) {
				p.modTime = t
			}
		}
	}
	for _, b := range p.folders {
		if b.finish(); b.modTime.After(p.modTime) {
			p.modTime = b.modTime
		}
	}
}

func (d *viewDir) Attr(context.Context) (Attr, error) {
	return Attr{Inode: d.inode, Dir: true, ModTime: d.view.ModTime(), Frozen: true}, nil
}

func (d *viewDir) Xattrs(ctx context.Context) (map[string]string, error) {
	out := map[string]string{
		xattrPrefix + "table": d.tab.hudi.Info().Name, xattrPrefix + "query": d.view.Query().String(), xattrPrefix + "instant": d.view.Instant(),
	}
	if _, err := d.load(ctx); err != nil {
		out[xattrError] = err.Error()
	}
	return out, nil
}

func (d *viewDir) Entries(ctx context.Context) ([]Entry, error) {
	top, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	return top.Entries(ctx)
}

func (d *viewDir) Lookup(ctx context.Context, name string) (Node, error) {
	top, err := d.load(ctx)
	if err != nil {
		return nil, err
	}
	return top.Lookup(ctx, name)
}

func (p *partition) inode() uint64 { return inodeOf("partition of", fmt.Sprint(p.dir.inode), p.path) }

func (p *partition) Attr(context.Context) (Attr, error) {
	return Attr{Inode: p.inode(), Dir: true, ModTime: p.modTime, Frozen: true}, nil
}

func (p *partition) Xattrs(context.Context) (map[string]string, error) {
	return map[string]string{xattrPrefix + "table": p.dir.tab.hudi.Info().Name, xattrPrefix + "partition": p.path}, nil
}

func (p *partition) Entries(context.Context) ([]Entry, error) { return p.entries(), nil }

func (p *partition) list() []Entry {
	out := make([]Entry, 0, len(p.files)+len(p.folders))
	for i := range p.files {
		f := &p.files[i]
		out = append(out, Entry{Name: f.name, Costly: f.file.Costly(), Inode: f.inode()})
	}
	for name, b := range p.folders {
		out = append(out, Entry{Name: name, Dir: true, Inode: b.inode()})
	}
	if len(p.folders) > 0 {
		slices.SortFunc(out, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
	}
	return out
}

func (p *partition) Lookup(ctx context.Context, name string) (Node, error) {
	if n := p.find(name); n != nil {
		return n, nil
	}
	if p.dir.view.Query() == hudi.Latest() {
		return p.dir.tab.earlier(ctx, p.path, name)
	}
	return nil, notFound(name)
}

func (p *partition) find(name string) Node {
	if i, ok := slices.BinarySearchFunc(p.files, name, func(f file, name string) int { return strings.Compare(f.name, name) }); ok {
		return &p.files[i]
	}
	if b := p.folders[name]; b != nil {
		return b
	}
	return nil
}

// at walks to a folder below the partition, nil where there is none.
func (p *partition) at(where string) *partition {
	for name := range strings.SplitSeq(where, "/") {
		if name == "" {
			continue
		}
		if p = p.folders[name]; p == nil {
			return nil
		}
	}
	return p
}

// layout is how partition paths become folders.
type layout struct {
	form   string
	fields []string
}

func (tab *table) layout() layout {
	return layout{form: tab.t.opts.Partitions, fields: tab.hudi.Info().PartitionFields}
}

// folders are the names of the folders for a partition path.
func (l layout) folders(path string) []string {
	if path == "" || l.form == "flat" {
		return nil
	}
	names := strings.Split(path, "/")
	for i, name := range names {
		if l.form != "table" {
			name = l.plain(name)
		}
		names[i] = short(name)
	}
	return names
}

// plain is the folder's name for one part of a partition path: its value.
func (l layout) plain(part string) string {
	for _, f := range l.fields {
		if v, ok := strings.CutPrefix(part, f+"="); ok {
			return plainName(v)
		}
	}
	return plainName(part)
}

// mayHave tells whether a name could be one of a view, now or before.
func (l layout) mayHave(name string) bool {
	switch {
	case name == "" || strings.Contains(name, "*"):
		return false
	case name[0] == '.' || name[0] == '_':
		return l.form == "table"
	}
	return true
}

// short cuts names that no kernel takes, as object stores have them.
func short(name string) string {
	const most = 255
	if len(name) <= most {
		return name
	}
	end := fmt.Sprintf("%%%016x", inodeOf("name", name))
	return strings.ToValidUTF8(name[:most-len(end)], "") + end
}

// plainName escapes what engines would take for something else than a folder of files: they read a column out of a name
// with =, overlook one that begins with _ or a point, and match one with what patterns are made of. The escapes are those of Hudi's own encoding
// of partition paths.
func plainName(value string) string {
	if value == "" {
		return "%"
	}
	var b strings.Builder
	for i := range len(value) {
		c := value[i]
		if c < ' ' || c == 0x7f || strings.IndexByte(`=*?[]{}\`, c) >= 0 || i == 0 && (c == '_' || c == '.') {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
