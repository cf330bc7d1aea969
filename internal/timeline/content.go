package timeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/hudifs/hudifs/internal/avro"
	"github.com/hudifs/hudifs/storage"
)

const (
	// maxInstantFile is about what a commit of 300,000 files takes.
	maxInstantFile = 256 << 20
	// maxJSON bounds the values of a JSON text: about 25 for each file. They take up to 70 bytes of memory, be they ever so short.
	maxJSON = 1 << 23
	// largeFile is the size from which on files are parsed one at a time, because it takes much memory.
	largeFile = 4 << 20
)

// content is the record that one state of an instant recorded, whatever form it had: rec is nil (an empty file),
// map[string]any (JSON) or *avro.Record.
type content struct {
	file string
	rec  any
}

// read returns what an instant's file of one state says. The state of an instant is written once and never changed. Of JSON it may return some
// fields only.
func (t *Timeline) read(ctx context.Context, in Instant, state State, only []string) (content, error) {
	if in.Archived {
		return t.readArchived(ctx, in, state)
	}
	name := in.file(state).name
	if name == "" {
		return content{file: in.Time + "." + string(in.Action)}, nil
	}
	file := path.Join(t.config.TimelinePath, name)
	data, err := storage.ReadFile(ctx, t.store, file, maxInstantFile)
	if err != nil {
		return content{}, err
	}
	return t.sniff(file, data, only)
}

// sniff tells the forms apart by the first bytes, never by the layout: releases before 1.0 wrote JSON commits, and an
// empty file is a legal instant without any content (hudi-common: CommitMetadataSerDeV1, CommitMetadataSerDeV2).
func (t *Timeline) sniff(file string, data []byte, only []string) (content, error) {
	c := content{file: file}
	switch text := bytes.TrimLeft(data, " \t\r\n"); {
	case len(text) == 0:
		return c, nil
	case text[0] == '{' && only != nil:
		m, err := pickJSON(file, data, only)
		c.rec = m
		return c, err
	case text[0] == '{':
		m, err := parseJSON(file, data)
		c.rec = m
		return c, err
	case bytes.HasPrefix(data, []byte(avro.Magic)):
		rec, err := avro.Container(data, &t.memo.schemas)
		if rec != nil {
			c.rec = rec
		}
		return c, avroError(file, err)
	}
	return c, corruptf(file, 0, "expected JSON, an Avro container or an empty file")
}

// fields reads the fields of a content by name. Names that are missing, as they are before or after some release, read as
// the zero value; a value of another type is an error, which sticks.
type fields struct {
	file string
	err  error
	// size bounds from above the memory that what was read takes.
	size int64
}

// What a value takes in a struct or slice, and an entry of a map.
const valueBytes, entryBytes = 24, 64

func (f *fields) get(rec any, name string) any {
	f.size += valueBytes
	switch rec := rec.(type) {
	case map[string]any:
		return rec[name]
	case *avro.Record:
		return rec.Get(name)
	}
	return nil
}

func (f *fields) wrong(name, want string, v any) {
	if f.err != nil {
		return
	}
	found := fmt.Sprintf("%T", v)
	if text, ok := v.(string); ok {
		found = fmt.Sprintf("%.80q", text)
	}
	f.err = corruptf(f.file, -1, "expected %s as %s, found %s", want, name, found)
}

func (f *fields) str(rec any, name string) string {
	switch v := f.get(rec, name).(type) {
	case nil:
	case string:
		f.size += int64(len(v))
		return v
	default:
		f.wrong(name, "a string", v)
	}
	return ""
}

func (f *fields) num(rec any, name string) int64 {
	return f.number(name, f.get(rec, name))
}

func (f *fields) number(name string, v any) int64 {
	switch v := v.(type) {
	case nil:
	case int64:
		return v
	case json.Number:
		n, err := v.Int64()
		if err != nil {
			f.wrong(name, "a whole number", v)
		}
		return n
	default:
		f.wrong(name, "a number", v)
	}
	return 0
}

func (f *fields) flag(rec any, name string) bool {
	switch v := f.get(rec, name).(type) {
	case nil:
	case bool:
		return v
	default:
		f.wrong(name, "a boolean", v)
	}
	return false
}

func (f *fields) list(rec any, name string) []any {
	return f.items(name, f.get(rec, name))
}

func (f *fields) items(name string, v any) []any {
	switch v := v.(type) {
	case nil:
	case []any:
		return v
	default:
		f.wrong(name, "a list", v)
	}
	return nil
}

func (f *fields) strs(rec any, name string) []string {
	return f.texts(name, f.list(rec, name))
}

func (f *fields) texts(name string, items []any) []string {
	var texts []string
	for _, item := range items {
		text, ok := item.(string)
		if !ok {
			f.wrong(name, "a list of strings", item)
		}
		f.size += valueBytes + int64(len(text))
		texts = append(texts, text)
	}
	return texts
}

func (f *fields) table(rec any, name string) map[string]any {
	switch v := f.get(rec, name).(type) {
	case nil:
	case map[string]any:
		for key := range v {
			f.size += entryBytes + int64(len(key))
		}
		return v
	default:
		f.wrong(name, "a map", v)
	}
	return nil
}

func (f *fields) strTable(rec any, name string) map[string]string {
	table := map[string]string{}
	for key, v := range f.table(rec, name) {
		switch v := v.(type) {
		case nil:
		case string:
			f.size += entryBytes + int64(len(key)+len(v))
			table[key] = v
		default:
			f.wrong(name, "a map of strings", v)
		}
	}
	return table
}

func (f *fields) numTable(rec any, name string) map[string]int64 {
	m := f.table(rec, name)
	if m == nil {
		return nil
	}
	table := make(map[string]int64, len(m))
	for key, v := range m {
		f.size += entryBytes + int64(len(key))
		table[key] = f.number(name, v)
	}
	return table
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// memo keeps parsed contents, first in first out, within a budget. Contents are immutable, so one memo serves a timeline and those that
// are refreshed from it.
type memo struct {
	schemas avro.Schemas
	// large is held while a large file is parsed.
	large chan struct{}

	mu      sync.Mutex
	entries map[memoKey]any
	order   []memoEntry
	size    int64
}

func newMemo() *memo { return &memo{large: make(chan struct{}, 1)} }

type memoKey struct {
	time   string
	action Action
	state  State
	file   instantFile
	at     archivePosition
	head   bool // see CommitHead
}

type memoEntry struct {
	key  memoKey
	size int64
}

const (
	memoBudget = 64 << 20
	// What a content takes beside what its fields do.
	memoOverhead = 512
)

func (m *memo) get(key memoKey) (any, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.entries[key]
	return v, ok
}

func (m *memo) put(key memoKey, v any, size int64) {
	size += memoOverhead
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.entries[key]; ok || size > memoBudget {
		return
	}
	for m.size+size > memoBudget {
		delete(m.entries, m.order[0].key)
		m.size -= m.order[0].size
		m.order = m.order[1:]
	}
	if m.entries == nil {
		m.entries = map[memoKey]any{}
	}
	m.entries[key] = v
	m.order = append(m.order, memoEntry{key, size})
	m.size += size
}

// parsed returns the content of one state of an instant as parse understands it, from the memo where it is there.
func parsed[T any](ctx context.Context, t *Timeline, in Instant, state State, parse func(*fields, any) T) (*T, error) {
	return parsedOnly(ctx, t, in, state, nil, parse)
}

// parsedOnly is parsed, of some fields where only is not nil.
func parsedOnly[T any](ctx context.Context, t *Timeline, in Instant, state State, only []string, parse func(*fields, any) T) (*T, error) {
	file := in.file(state)
	key := memoKey{time: in.Time, action: in.Action, state: state, file: file, at: in.at, head: only != nil}
	if v, ok := memoized[T](t.memo, key); ok {
		return v, nil
	}
	if max(file.size, in.at.length) > largeFile {
		select {
		case t.memo.large <- struct{}{}:
			defer func() { <-t.memo.large }()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if v, ok := memoized[T](t.memo, key); ok {
			return v, nil
		}
	}
	c, err := t.read(ctx, in, state, only)
	if err != nil {
		return nil, err
	}
	f := &fields{file: c.file}
	v := parse(f, c.rec)
	if f.err != nil {
		return nil, f.err
	}
	if c.rec != nil { // a file that is empty may be written yet
		t.memo.put(key, &v, f.size)
	}
	return &v, nil
}

func memoized[T any](m *memo, key memoKey) (*T, bool) {
	v, _ := m.get(key)
	t, ok := v.(*T)
	return t, ok
}
