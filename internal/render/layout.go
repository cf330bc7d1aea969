package render

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/hudifs/hudifs/internal/contain"
	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/internal/pqfile"
	"github.com/hudifs/hudifs/internal/schema"
)

// A slice is laid out in regions where it is worth making its columns apart: it has so many of them, and so many bytes in its base file.
var (
	regionsFromColumns = 8
	regionsFromBytes   = int64(1 << 20)
)

// InRegions tells whether each column chunk of the file lies in a region whose place is known before the chunk is made. It follows from the slice alone.
func (in *Input) InRegions() (bool, error) { return in.inRegions(in.added) }

// inRegions is InRegions where it may be known already what the log files may add.
func (in *Input) inRegions(added func() (added []pqfile.Added, shared int64, err error)) (bool, error) {
	if err := in.prepare(); err != nil {
		return false, err
	}
	if in.Base == nil || in.Merger != nil || len(in.Target.Leaves) < regionsFromColumns {
		return false, nil
	}
	if in.baseSize() < regionsFromBytes || 2*in.apart() < len(in.Target.Leaves) {
		return false, nil
	}
	add, shared, err := added()
	if err != nil {
		return false, err
	}
	for g := range in.Base.Groups() {
		for i, leaf := range in.Target.Leaves {
			if n, ok := in.chunkBound(g, leaf, add[i]); !ok || n+2*shared > pqfile.MaxRegion {
				return false, nil
			}
		}
	}
	return true, nil
}

// apart is how many columns lie in regions.
func (in *Input) apart() int {
	n := 0
	for _, leaf := range in.Target.Leaves {
		if in.isApart(leaf) {
			n++
		}
	}
	return n
}

// baseSize is how many bytes the base file has, decompressed.
func (in *Input) baseSize() (size int64) {
	for g := range in.Base.Groups() {
		for i := range in.Base.Schema.Leaves {
			size += in.Base.Column(g, i).TotalUncompressedSize
		}
	}
	return size
}

// Regions begin with a page of memory, and have a gap before them, so that who reads one need not wait for the next: the kernel reads whole pages, and
// reads ahead, up to twice 128 KiB beyond what is asked for.
const (
	regionPage = 4 << 10
	maxGap     = 256 << 10
)

// gap is what lies between regions, and before the footer: a quarter of a region of usual size, if it need not be more.
func (in *Input) gap() int64 {
	regions := int64(max(in.apart()*in.Base.Groups(), 1))
	return min(max(in.baseSize()/regions/4, regionPage), maxGap)
}

// behind is where a region begins behind so many bytes.
func behind(end, gap int64) int64 { return (end + gap + regionPage - 1) / regionPage * regionPage }

// isApart tells whether the chunks of a column are made in regions, by themselves. Others are made when the layout is.
func (in *Input) isApart(leaf *schema.Node) bool {
	_, constant := in.Constants[leaf.Index]
	return !constant && in.splices(leaf)
}

// Layout is a file whose merge is planned, and the places of its column chunks.
type Layout struct {
	m      *Merged
	looked map[int]bool // the leaves whose log records are looked at before
	groups []pqfile.Group
	parts  []part
	footer []byte
	end    int64 // of the chunks
	gap    int64 // between regions
}

// part is a chunk that is made by itself.
type part struct {
	group  *group
	leaf   *schema.Node
	region pqfile.Region
}

// Layout plans the merge, and writes what does not lie in regions to w, the footer excepted.
func (in *Input) Layout(ctx context.Context, w io.WriterAt) (*Layout, error) {
	return in.layout(ctx, w, in.pruning())
}

// layout reads some columns of the log records at once. The others are decoded when they are asked for.
func (in *Input) layout(ctx context.Context, w io.WriterAt, keep []int) (*Layout, error) {
	m, err := in.merge(ctx, keep)
	if err != nil {
		return nil, err
	}
	m.records.single = true
	l := &Layout{m: m, looked: map[int]bool{}, end: int64(len(pqfile.Head)), gap: in.gap()}
	for _, leaf := range in.pruning() {
		l.looked[leaf] = true
	}
	for number := range m.Groups() {
		g := m.group(number)
		if g.rows() == 0 {
			continue
		}
		var chunks pqfile.Group
		for i, leaf := range in.Target.Leaves {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			chunk, err := l.place(w, g, leaf, m.plan.facts[i])
			if err != nil {
				return nil, err
			}
			chunks = append(chunks, chunk)
			l.end = chunk.Offset + chunk.Size
		}
		l.groups = append(l.groups, chunks)
	}
	l.footer, err = pqfile.Footer(in.Target, l.groups)
	return l, err
}

// place finds the place of a chunk behind all others, or writes it there.
func (l *Layout) place(w io.WriterAt, g *group, leaf *schema.Node, facts logfile.Facts) (*pqfile.Chunk, error) {
	if !g.in.isApart(leaf) {
		start := func(leaf *schema.Node, o pqfile.ChunkOptions) *pqfile.ChunkWriter {
			return pqfile.NewChunkWriter(io.NewOffsetWriter(w, l.end), leaf, o)
		}
		c, known, err := g.encode(start, leaf)
		if err != nil {
			return nil, err
		}
		chunk, err := c.Close(known())
		if err != nil {
			return nil, err
		}
		chunk.Offset = l.end
		return chunk, nil
	}
	file, by := g.in.from(leaf)
	add := pqfile.Added{Rows: int64(l.m.plan.records), Values: int64(l.m.plan.records), Bytes: facts.Bytes}
	if v, ok := g.in.Fill[leaf.Index]; ok {
		add.Values++ // the dictionary has it, even if no row does
		add.Bytes += add.Values * int64(len(v)+4)
	}
	region, err := file.RegionBound(g.number, by.Source, leaf, add)
	if err != nil {
		return nil, err
	}
	region.Offset = behind(l.end, l.gap)
	l.parts = append(l.parts, part{g, leaf, region})
	r, err := l.known(g, leaf, facts)
	if err != nil {
		return nil, err
	}
	r.Leaf, r.Region, r.Rows = leaf, region, int64(g.rows())
	r.Plain, r.Indexed = file.Column(g.number, by.Source).PageKinds()
	return r.Chunk(), nil
}

// known is what is said of a column's values without making it, be the log records decoded or not.
func (l *Layout) known(g *group, leaf *schema.Node, facts logfile.Facts) (*pqfile.RegionChunk, error) {
	file, by := g.in.from(leaf)
	meta := file.Column(g.number, by.Source)
	r := &pqfile.RegionChunk{Nulls: -1, MinMax: pqfile.NewMinMax(leaf.Scalar)}
	r.MinMax.AddChunk(file, g.number, by.Source, g.left(leaf))
	takes := g.takesRecords()
	nulls := int64(-1) // of the records
	switch {
	case !takes:
		nulls = 0
	case l.looked[leaf.Index]:
		var err error
		if nulls, err = g.look(leaf, r.MinMax); err != nil {
			return nil, err
		}
		if nulls > 0 && !g.whole() {
			nulls = -1 // of rows that are put together not every null of a record becomes one
		}
	default:
		r.MinMax.Forget()
		if _, filled := g.in.Fill[leaf.Index]; filled || facts.Nulls == 0 {
			nulls = 0
		}
	}
	switch before := meta.Statistics.NullCount; {
	case file.Schema.Leaves[by.Source].MaxDef == 0 || before.Valid && before.V == 0:
		r.Nulls = nulls
	case before.Valid && !takes && len(g.plan.groups[g.number]) == 0:
		r.Nulls = before.V // all rows stay
	}
	return r, nil
}

// takesRecords tells whether log records go into the group.
func (g *group) takesRecords() bool {
	return g.last && len(g.plan.inserts) > 0 || slices.ContainsFunc(g.plan.groups[g.number], func(c change) bool { return c.With != drop })
}

// look adds the values of the group's records to m, and counts those that are null.
func (g *group) look(leaf *schema.Node, m *pqfile.MinMax) (nulls int64, err error) {
	if !g.plan.large {
		column := g.records.kept[leaf.Index].filled(g.in.fill(leaf))
		taken := g.taken(leaf)
		m.AddRows(column.vector, column.index, taken, g.whole())
		return column.nulls(taken), nil
	}
	c := columnWriter{group: g, leaf: leaf}
	if err := c.ready(); err != nil {
		return 0, err
	}
	c.seen = m
	err = c.eachWindow(func() { nulls += int64(c.logged.vector.Entries() - c.logged.vector.Values()) })
	return nulls, err
}

// Needed is the smallest size that the file fits in.
func (l *Layout) Needed() int64 { return l.end + l.gap + int64(len(l.footer)) }

// WriteEnds writes head and footer of the file, of size bytes.
func (l *Layout) WriteEnds(w io.WriterAt, size int64) error {
	return pqfile.Finish(w, size, l.m.in.Target, l.groups)
}

// Parts is the number of chunks that are made by themselves, in the order of their places.
func (l *Layout) Parts() int { return len(l.parts) }

// Region is the place of one of them.
func (l *Layout) Region(part int) (offset, size int64) {
	r := l.parts[part].region
	return r.Offset, r.Size
}

// All says that all of them will be made: what their log records hold is decoded together.
func (l *Layout) All() { l.m.records.all() }

// Make writes one of them. Several may be made at once.
func (l *Layout) Make(w io.WriterAt, part int) error {
	p := l.parts[part]
	start := func(leaf *schema.Node, o pqfile.ChunkOptions) *pqfile.ChunkWriter {
		return pqfile.NewRegionWriter(w, leaf, o, p.region)
	}
	c, _, err := p.group.encode(start, p.leaf)
	if err != nil {
		return err
	}
	_, err = c.Close(nil) // the footer is there already
	return err
}

// renderInRegions writes the file with all of its parts.
func (in *Input) renderInRegions(ctx context.Context, w io.WriterAt, size int64) error {
	l, err := in.layout(ctx, w, in.most())
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range l.Parts() {
		group.Go(contain.Func(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return l.Make(w, i)
		}))
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return l.WriteEnds(w, size)
}

// most are the columns of the log records that can be decoded in one go when all are needed: all, or those that are looked at first.
func (in *Input) most() []int {
	content := int64(0)
	for _, r := range in.Blocks {
		content += r.Block.ContentLength
	}
	if in.window(content) < len(in.Target.Leaves) {
		return in.pruning()
	}
	return allLeaves(in.Target)
}

func allLeaves(m *schema.Message) []int {
	all := make([]int, len(m.Leaves))
	for i := range all {
		all[i] = i
	}
	return all
}

// pruning are the columns that readers skip files by more than by others: what is known of them is worth reading the log for.
func (in *Input) pruning() []int {
	names := append([]string{schema.CommitTime, schema.RecordKey, schema.PartitionPath}, in.Pruning...)
	names = append(append(names, in.Ordering...), in.Key.Fields...)
	out := []int{}
	for _, name := range names {
		if n := in.Target.Find(name); n != nil && !slices.Contains(out, n.Index) {
			out = append(out, n.Index)
		}
	}
	return out
}

func (l *Layout) String() string {
	return fmt.Sprintf("%d parts in %d bytes", len(l.parts), l.end)
}
