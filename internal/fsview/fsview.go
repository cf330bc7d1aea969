// Package fsview finds out which file groups a table has and which file slices each of them had at an instant, from the
// names of the files alone.
//
// A file group is all files of one file id in one partition; a file slice is one base file of it and the log files on top:
//
//	<fileId>_<token>_<instant>.parquet            base file, made by the commit at <instant>; .hfile in a metadata table
//	.<fileId>_<instant>.log.<version>_<token>     log file; up to table version 7 <instant> is that of its base file,
//	                                              from 8 on that of the delta commit that wrote it
//
// Up to version 7 a slice is what carries its base instant in its names; from 8 on a log file belongs to the newest base
// file that had been requested when the log's delta commit completed (hudi-common: HoodieFileGroup, AbstractTableFileSystemView;
// CompletionTimeQueryView for version 8).
package fsview

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hudifs/hudifs/internal/logfile"
	"github.com/hudifs/hudifs/storage"
)

// Timeline is what slicing needs to know of a table's timeline.
type Timeline interface {
	// IsCommitted tells whether what was written at an instant counts.
	IsCommitted(instant string) bool
	// CompletionTime is when a committed instant completed.
	CompletionTime(ctx context.Context, instant string) (string, bool, error)
	// BaseFile is the name of the base file that the commit at an instant made of a file group, "" where that can't be told.
	BaseFile(ctx context.Context, instant, partition, fileID string) (string, error)
}

// The extensions of base files.
const (
	Parquet = "parquet"
	HFile   = "hfile"
)

// Format says how a table names its files.
type Format struct {
	Version int    // of the table
	Base    string // extension of its base files
}

// BaseFile is a base file by its name.
type BaseFile struct {
	Name    string
	FileID  string
	Instant string
	Size    int64
}

// LogFile is a log file by its name.
type LogFile struct {
	logfile.Name
	File string
	Size int64
}

// Slice is a file slice: at most one base file, and log files in the order in which they are merged.
type Slice struct {
	// Instant is the slice's base instant.
	Instant string
	Base    *BaseFile
	Logs    []LogFile
}

// Group is a file group with its slices, oldest first.
type Group struct {
	Partition string
	FileID    string
	Slices    []Slice
}

// ParseBase reads the name of a base file with an extension: ok is false for any other.
func ParseBase(name, extension string) (f BaseFile, ok bool) {
	if strings.HasPrefix(name, ".") {
		return f, false
	}
	fileID, rest, ok := strings.Cut(name, "_")
	if !ok || fileID == "" {
		return f, false
	}
	_, after, ok := strings.Cut(rest, "_")
	if !ok {
		return f, false
	}
	stem, ext, ok := strings.Cut(after, ".")
	if !ok || ext != extension {
		return f, false
	}
	instant := stem[strings.LastIndex(stem, "_")+1:]
	if !isInstant(instant, extension) {
		return f, false
	}
	return BaseFile{Name: name, FileID: fileID, Instant: instant}, true
}

// isInstant tells instants from what else stands in the names of files that do not belong to a table: sales_eu_2023.parquet would
// count as archived, being of an instant before the timeline's first. Nobody puts files into a metadata table, whose instants may
// be of any length.
func isInstant(s, extension string) bool {
	const seconds = 14 // as in 20261130002208; milliseconds may follow
	return digits(s) && (len(s) >= seconds || s != "" && extension == HFile)
}

func digits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

// Groups sorts the files of a partition into file groups and these into slices. What isn't committed and what is no file of the
// table is left out. Groups come ordered by file id.
func Groups(ctx context.Context, tl Timeline, format Format, partition string, files []storage.Entry) ([]Group, error) {
	var out []Group
	err := EachGroup(ctx, tl, format, partition, files, func(g Group) error {
		g.Slices = slices.Clone(g.Slices)
		out = append(out, g)
		return nil
	})
	return out, err
}

// EachGroup calls each for every group that Groups would return, in that order. The group's slices may not be kept, only what they hold.
func EachGroup(ctx context.Context, tl Timeline, format Format, partition string, files []storage.Entry, each func(g Group) error) error {
	b := builder{tl: tl, format: format, partition: partition, bases: make([]BaseFile, 0, len(files))}
	for _, f := range files {
		if !f.Dir {
			b.add(f)
		}
	}
	byID(b.bases, func(f *BaseFile) string { return f.FileID })
	byID(b.logs, func(f *LogFile) string { return f.FileID })
	var alone [1]Slice // which most groups consist of
	for bases, logs := b.bases, b.logs; len(bases)+len(logs) > 0; {
		id := ""
		if len(bases) > 0 {
			id = bases[0].FileID
		}
		if len(logs) > 0 && (len(bases) == 0 || logs[0].FileID < id) {
			id = logs[0].FileID
		}
		nb, nl := 0, 0
		for nb < len(bases) && bases[nb].FileID == id {
			nb++
		}
		for nl < len(logs) && logs[nl].FileID == id {
			nl++
		}
		g := Group{Partition: partition, FileID: id}
		if nb == 1 && nl == 0 {
			alone[0] = Slice{Instant: bases[0].Instant, Base: &bases[0]}
			g.Slices = alone[:]
		} else if err := b.slice(ctx, &g, bases[:nb], logs[:nl]); err != nil {
			return err
		}
		if len(g.Slices) > 0 {
			if err := each(g); err != nil {
				return err
			}
		}
		bases, logs = bases[nb:], logs[nl:]
	}
	return nil
}

// byID orders files by their file id, and those of one as they were. Files that are sorted by name nearly are.
func byID[F any](files []F, id func(*F) string) {
	for i := 1; i < len(files); i++ {
		if id(&files[i]) < id(&files[i-1]) {
			slices.SortStableFunc(files, func(a, b F) int { return strings.Compare(id(&a), id(&b)) })
			return
		}
	}
}

// parts are the files of one group.
type parts struct {
	bases map[string]BaseFile // by instant
	logs  []LogFile
}

type builder struct {
	tl        Timeline
	format    Format
	partition string
	bases     []BaseFile
	logs      []LogFile
	committed string // the instant that was found committed last
}

func (b *builder) isCommitted(instant string) bool {
	if instant == b.committed {
		return true
	}
	if !b.tl.IsCommitted(instant) {
		return false
	}
	b.committed = instant
	return true
}

func (b *builder) add(e storage.Entry) {
	if base, ok := ParseBase(e.Name, b.format.Base); ok {
		if b.isCommitted(base.Instant) {
			base.Size = e.Size
			b.bases = append(b.bases, base)
		}
		return
	}
	name, ok := logfile.ParseName(e.Name)
	if !ok || name.CDC || name.Ext != "log" || !isInstant(name.Instant, b.format.Base) {
		return
	}
	if b.format.Version < 8 || b.isCommitted(name.Instant) {
		b.logs = append(b.logs, LogFile{Name: name, File: e.Name, Size: e.Size})
	}
}

// slice sorts the files of one group into slices.
func (b *builder) slice(ctx context.Context, g *Group, bases []BaseFile, logs []LogFile) (err error) {
	p := &parts{bases: make(map[string]BaseFile, len(bases)), logs: logs}
	for _, base := range bases {
		if _, twice := p.bases[base.Instant]; twice {
			// A task that was tried twice may leave two files; the commit says which one counts.
			name, err := b.tl.BaseFile(ctx, base.Instant, b.partition, base.FileID)
			if err != nil {
				return err
			}
			if name != "" && name != base.Name {
				continue
			}
		}
		p.bases[base.Instant] = base
	}
	if b.format.Version >= 8 {
		g.Slices, err = b.byCompletion(ctx, p)
	} else {
		g.Slices = byName(p)
	}
	return err
}

// byName makes slices by the base instant in the names, as up to table version 7.
func byName(p *parts) []Slice {
	at := map[string]*Slice{}
	slice := func(instant string) *Slice {
		if at[instant] == nil {
			at[instant] = &Slice{Instant: instant}
		}
		return at[instant]
	}
	for instant, base := range p.bases {
		slice(instant).Base = &base
	}
	for _, l := range p.logs {
		s := slice(l.Instant)
		s.Logs = append(s.Logs, l)
	}
	return ordered(at)
}

func ordered(at map[string]*Slice) []Slice {
	var out []Slice
	for _, instant := range slices.Sorted(maps.Keys(at)) {
		s := at[instant]
		slices.SortFunc(s.Logs, func(a, b LogFile) int { return logfile.Compare(a.Name, b.Name) })
		out = append(out, *s)
	}
	return out
}

// byCompletion makes slices as from table version 8 on.
func (b *builder) byCompletion(ctx context.Context, p *parts) ([]Slice, error) {
	bases := slices.Sorted(maps.Keys(p.bases))
	at := map[string]*Slice{}
	for _, instant := range bases {
		base := p.bases[instant]
		at[instant] = &Slice{Instant: instant, Base: &base}
	}
	var alone []LogFile
	for _, l := range p.logs {
		done, ok, err := b.tl.CompletionTime(ctx, l.Instant)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue // rolled back, before what is left of the active timeline
		}
		i, found := slices.BinarySearch(bases, done)
		if found {
			i++
		}
		if i == 0 {
			alone = append(alone, l)
			continue
		}
		s := at[bases[i-1]]
		s.Logs = append(s.Logs, l)
	}
	if len(alone) > 0 {
		first := slices.MinFunc(alone, func(a, b LogFile) int { return cmp.Compare(a.Instant, b.Instant) })
		at[first.Instant] = &Slice{Instant: first.Instant, Logs: alone}
	}
	return ordered(at), nil
}

// At is the slice that a group had at an instant, by requested time; "" stands for the end of time. While a compaction is
// pending, a table of version 7 and below has its new log files under the compaction's instant, without a base file: they
// lie on top of the slice before.
func (g Group) At(instant string) (Slice, bool) {
	n := len(g.Slices)
	for n > 0 && instant != "" && g.Slices[n-1].Instant > instant {
		n--
	}
	if n == 0 {
		return Slice{}, false
	}
	s := g.Slices[n-1]
	for i := n - 2; i >= 0 && s.Base == nil; i-- {
		older := g.Slices[i]
		s = Slice{Instant: older.Instant, Base: older.Base, Logs: slices.Concat(older.Logs, s.Logs)}
	}
	return s, true
}
