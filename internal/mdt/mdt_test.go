package mdt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/hudifs/hudifs/internal/fsview"
	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
)

const recordSchema = `{"type":"record","name":"HoodieMetadataRecord","fields":[{"name":"key","type":"string"},{"name":"type","type":"int"},
	{"name":"filesystemMetadata","type":["null",{"type":"map","values":{"type":"record","name":"HoodieMetadataFileInfo","fields":[
	{"name":"size","type":"long"},{"name":"isDeleted","type":"boolean"}]}}]}]}`

// at is the instant with a number.
func at(n string) string { return "202611300000" + fmt.Sprintf("%05s", n) }

// gone marks a file that a record deletes.
const gone = -1

// sizes are the files of one record.
type sizes map[string]int64

// block is a log block of the metadata table.
func block(t testing.TB, instant string, records map[string]sizes) string {
	t.Helper()
	codec, err := goavro.NewCodec(recordSchema)
	if err != nil {
		t.Fatal(err)
	}
	content := binary.BigEndian.AppendUint32(nil, 3)
	content = binary.BigEndian.AppendUint32(content, uint32(len(records)))
	for _, key := range slices.Sorted(maps.Keys(records)) {
		files := map[string]any{}
		for name, size := range records[key] {
			files[name] = map[string]any{"size": max(size, 0), "isDeleted": size == gone}
		}
		datum, err := codec.BinaryFromNative(nil, map[string]any{"key": key, "type": 2, "filesystemMetadata": goavro.Union("map", files)})
		if err != nil {
			t.Fatal(err)
		}
		content = binary.BigEndian.AppendUint32(content, uint32(len(datum)))
		content = append(content, datum...)
	}
	return rawBlock(3, map[uint32]string{0: at(instant), 2: recordSchema}, string(content))
}

// deleteBlock deletes keys.
func deleteBlock(instant string, keys ...string) string {
	list := binary.AppendVarint(nil, int64(len(keys)))
	for _, k := range keys {
		list = append(binary.AppendVarint(append(list, 2), int64(len(k))), k...)
		list = append(list, 0, 0) // no partition, no ordering value
	}
	list = append(list, 0)
	content := binary.BigEndian.AppendUint32([]byte{0, 0, 0, 3}, uint32(len(list)))
	return rawBlock(1, map[uint32]string{0: at(instant)}, string(content)+string(list))
}

func rawBlock(kind uint32, header map[uint32]string, content string) string {
	be := binary.BigEndian
	b := be.AppendUint32(be.AppendUint32(nil, 1), kind)
	b = be.AppendUint32(b, uint32(len(header)))
	for _, k := range slices.Sorted(maps.Keys(header)) {
		b = append(be.AppendUint32(be.AppendUint32(b, k), uint32(len(header[k]))), header[k]...)
	}
	b = append(be.AppendUint64(b, uint64(len(content))), content...)
	b = be.AppendUint32(b, 0)
	size := uint64(len(b) + 8)
	b = be.AppendUint64(b, size+6)
	return "#HUDI#" + string(be.AppendUint64(nil, size)) + string(b)
}

// table makes a table of version 8 with the instants 1 to 6, of which 4 is pending, and a metadata table that knows of the others and whose partition "files"
// is one log file for each of some instants.
func table(t testing.TB, logs map[string]string) *storagetest.Mem {
	t.Helper()
	m := storagetest.NewMem(nil)
	props := func(more string) []byte { return []byte("hoodie.table.name=t\nhoodie.table.version=8\n" + more) }
	m.Put(".hoodie/hoodie.properties", props("hoodie.table.metadata.partitions=files\n"))
	m.Put(folder+"/.hoodie/hoodie.properties", props("hoodie.table.base.file.format=HFILE\nhoodie.table.type=MERGE_ON_READ\n"))
	for _, i := range []string{"1", "2", "3", "4", "5", "6"} {
		m.Put(".hoodie/timeline/"+at(i)+".commit.requested", nil)
		if i != "4" {
			m.Put(".hoodie/timeline/"+at(i)+"_"+at(i)+".commit", nil)
			m.Put(deltacommit(i), nil)
		}
	}
	for i, log := range logs {
		m.Put(deltacommit(i), nil)
		m.Put(fmt.Sprintf("%s/files/.files-0000-0_%s.log.1_0-0-0", folder, at(i)), []byte(log))
	}
	return m
}

// deltacommit is the file of a completed instant of the metadata table.
func deltacommit(n string) string {
	return folder + "/.hoodie/timeline/" + at(n) + "_" + at(n) + ".deltacommit"
}

func openTable(ctx context.Context, t testing.TB, s storage.Store) (*Table, error) {
	t.Helper()
	c, err := timeline.LoadConfig(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	tl, err := timeline.Load(ctx, s, c)
	if err != nil {
		t.Fatal(err)
	}
	return Open(ctx, s, tl)
}

// partitions are those that a lister walks, sorted.
func partitions(ctx context.Context, l fsview.Lister) ([]string, error) {
	var mu sync.Mutex
	var found []string
	err := l.Walk(ctx, false, func(partition string, _ []storage.Entry) error {
		mu.Lock()
		defer mu.Unlock()
		found = append(found, partition)
		return nil
	})
	slices.Sort(found)
	return found, err
}

// listing is what a lister says, with sizes by path.
func listing(t testing.TB, m *Table) (sizes, error) {
	t.Helper()
	found, err := partitions(t.Context(), m)
	if err != nil {
		return nil, err
	}
	out := sizes{}
	for _, p := range found {
		files, err := m.Files(t.Context(), p)
		if err != nil {
			return nil, err
		}
		out[p] = 0
		for _, f := range files {
			out[p+"/"+f.Name] = f.Size
		}
	}
	return out, nil
}

func TestMerge(t *testing.T) {
	first := map[string]sizes{allPartitions: {"p": 0, "q": 0}, "p": {"a": 10, "l": 5}, "q": {"b": 20}}
	for _, tt := range []struct {
		name string
		logs map[string]string
		want sizes
	}{
		{"one write", map[string]string{"1": block(t, "1", first)}, sizes{"p": 0, "p/a": 10, "p/l": 5, "q": 0, "q/b": 20}},
		{"a log file that grew, and one that did not", map[string]string{
			"1": block(t, "1", first), "2": block(t, "2", map[string]sizes{"p": {"l": 9, "a": 3}}),
		}, sizes{"p": 0, "p/a": 10, "p/l": 9, "q": 0, "q/b": 20}},
		{"a cleaned file, and one that was not there", map[string]string{
			"1": block(t, "1", first), "2": block(t, "2", map[string]sizes{"p": {"a": gone, "z": gone}}),
		}, sizes{"p": 0, "p/l": 5, "q": 0, "q/b": 20}},
		{"cleaned and written again", map[string]string{
			"1": block(t, "1", first), "2": block(t, "2", map[string]sizes{"p": {"a": gone}}), "3": block(t, "3", map[string]sizes{"p": {"a": 4}}),
		}, sizes{"p": 0, "p/a": 4, "p/l": 5, "q": 0, "q/b": 20}},
		{"a dropped partition", map[string]string{
			"1": block(t, "1", first), "2": block(t, "2", map[string]sizes{allPartitions: {"q": gone}}) + deleteBlock("2", "q"),
		}, sizes{"p": 0, "p/a": 10, "p/l": 5}},
		{"a deleted record that comes back", map[string]string{
			"1": block(t, "1", first), "2": deleteBlock("2", "q"), "3": block(t, "3", map[string]sizes{"q": {"c": 1}}),
		}, sizes{"p": 0, "p/a": 10, "p/l": 5, "q": 0, "q/c": 1}},
		{"a write that is pending on the table", map[string]string{
			"1": block(t, "1", first), "4": block(t, "4", map[string]sizes{"p": {"a": gone, "n": 1}}),
		}, sizes{"p": 0, "p/a": 10, "p/l": 5, "q": 0, "q/b": 20}},
		{"a service of the metadata table itself", map[string]string{
			"1": block(t, "1", first), "77": block(t, "77", map[string]sizes{"p": {"n": 1}}),
		}, sizes{"p": 0, "p/a": 10, "p/l": 5, "p/n": 1, "q": 0, "q/b": 20}},
		{"no partitions", map[string]string{
			"1": block(t, "1", map[string]sizes{allPartitions: {".": 0}, ".": {"a": 1}}),
		}, sizes{"": 0, "/a": 1}},
		{"a partition without files", map[string]string{"1": block(t, "1", map[string]sizes{allPartitions: {"p": 0}})}, sizes{"p": 0}},
		{"an empty table", map[string]string{"1": block(t, "1", map[string]sizes{allPartitions: {}})}, sizes{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, err := openTable(t.Context(), t, table(t, tt.logs))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := listing(t, m); err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %v, %v, want %v", got, err, tt.want)
			}
			if _, err := m.Files(t.Context(), "nowhere"); !errors.Is(err, storage.ErrNotExist) {
				t.Errorf("an unknown partition: %v", err)
			}
		})
	}
}

func TestUnavailable(t *testing.T) {
	good := block(t, "1", map[string]sizes{allPartitions: {"p": 0}, "p": {"a": 10}})
	log := folder + "/files/.files-0000-0_" + at("1") + ".log.1_0-0-0"
	for _, tt := range []struct {
		name   string
		log    string
		change func(m *storagetest.Mem)
	}{
		{"switched off", good, func(m *storagetest.Mem) {
			m.Put(".hoodie/hoodie.properties", []byte("hoodie.table.name=t\nhoodie.table.version=8\n"))
		}},
		{"no properties", good, func(m *storagetest.Mem) { m.Remove(folder + "/.hoodie/hoodie.properties") }},
		{"no folder", good, func(m *storagetest.Mem) { m.Remove(log) }},
		{"a write that another writer made without it", good, func(m *storagetest.Mem) { m.Remove(deltacommit("5")) }},
		{"a write without it since it was made of what was there", good, func(m *storagetest.Mem) {
			for _, i := range []string{"1", "2", "5"} {
				m.Remove(deltacommit(i))
			}
			m.Put(folder+"/.hoodie/timeline/"+at("3")+"010_"+at("4")+".deltacommit", nil)
		}},
		{"nothing has completed", good, func(m *storagetest.Mem) {
			for _, i := range []string{"1", "2", "3", "5", "6"} {
				m.Remove(deltacommit(i))
			}
		}},
		{"torn", good[:len(good)-3], nil},
		{"no partitions", block(t, "1", map[string]sizes{"p": {"a": 10}}), nil},
		{"hostile partition", block(t, "1", map[string]sizes{allPartitions: {"../p": 0}}), nil},
		{"hostile file", block(t, "1", map[string]sizes{allPartitions: {"p": 0}, "p": {"../a": 10}}), nil},
		{"no key", block(t, "1", map[string]sizes{"": {"a": 10}}), nil},
		{"garbage", rawBlock(3, map[uint32]string{0: at("1"), 2: recordSchema}, "\x00\x00\x00\x03\x00\x00\x00\x01\x00\x00\x00\x01\xff"), nil},
		{"another schema", strings.Replace(good, `"long"`, `"null"`, 1), nil},
		{"a Parquet block", rawBlock(5, map[uint32]string{0: at("1"), 2: recordSchema}, "PAR1"), nil},
		{"a damaged HFile", rawBlock(4, map[uint32]string{0: at("1"), 2: recordSchema}, strings.Repeat("x", 5000)), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := table(t, map[string]string{"1": tt.log})
			if tt.change != nil {
				tt.change(s)
			}
			m, err := openTable(t.Context(), t, s)
			if err == nil {
				err = m.Load(t.Context())
				if _, again := partitions(t.Context(), m); !errors.Is(again, err) && err != nil {
					t.Errorf("then %v", again)
				}
			}
			if !errors.Is(err, ErrUnavailable) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Writes from before its initialisation, or that it has archived, are nothing that a metadata table lacks.
func TestOlderWrites(t *testing.T) {
	log := block(t, "5", map[string]sizes{allPartitions: {"p": 0}, "p": {"a": 10}})
	for name, first := range map[string]string{"initialised later": at("3") + "010", "archived": at("3")} {
		t.Run(name, func(t *testing.T) {
			s := table(t, map[string]string{"5": log})
			for _, i := range []string{"1", "2", "3"} {
				s.Remove(deltacommit(i))
			}
			s.Put(folder+"/.hoodie/timeline/"+first+"_"+at("4")+".deltacommit", nil)
			m, err := openTable(t.Context(), t, s)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := listing(t, m); err != nil || !maps.Equal(got, sizes{"p": 0, "p/a": 10}) {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// What ends a read says nothing of the table: it is asked again.
func TestInterrupted(t *testing.T) {
	s := table(t, map[string]string{"1": block(t, "1", map[string]sizes{allPartitions: {"p": 0}})})
	fault := storagetest.Fault{Op: storagetest.Open, Path: folder + "/files/.files-0000-0_" + at("1") + ".log.1_0-0-0", Effect: storagetest.Unavailable}
	faulty := storagetest.NewFaulty(s, fault)
	m, err := openTable(t.Context(), t, faulty)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Load(t.Context()); !errors.Is(err, storage.ErrUnavailable) || errors.Is(err, ErrUnavailable) {
		t.Errorf("an unreachable store: %v", err)
	}
	faulty.Verify(t)

	if m, err = openTable(t.Context(), t, s); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Load(ctx); !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		t.Errorf("a cancelled read: %v", err)
	}
	if err := m.Load(t.Context()); err != nil {
		t.Errorf("the next read: %v", err)
	}
}

func TestDecimalText(t *testing.T) {
	for _, tt := range []struct {
		unscaled string
		scale    int
		want     string
	}{
		{"\x01\xe8\x48", 2, "1250"}, {"\x00", 2, "0"}, {"", 0, "0"}, {"\x7b", 2, "1.23"}, {"\x85", 2, "-1.23"}, {"\x64", 0, "100"}, {"\x05", 3, "0.005"},
	} {
		if got := decimalText([]byte(tt.unscaled), tt.scale); got != tt.want {
			t.Errorf("%x of scale %d is %s, want %s", tt.unscaled, tt.scale, got, tt.want)
		}
	}
}
