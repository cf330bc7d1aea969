package bootstrap

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/internal/tabletest"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
)

// index is the store of a table with the index that Hudi of some release wrote for s3a://lake/trips.
func index(t testing.TB, release string) *storagetest.Mem {
	t.Helper()
	m := storagetest.NewMem(nil)
	for name, kind := range map[string]string{partitionFile: "partitions", fileIDFile: "fileids"} {
		b, err := os.ReadFile(filepath.Join("testdata", release+"."+kind+".hfile"))
		if err != nil {
			t.Fatal(err)
		}
		m.Put(name, b)
	}
	return m
}

const id = "11111111-2222-3333-4444-00000000000"

func TestIndex(t *testing.T) {
	eu := map[string]Source{
		id + "1": {"s3a://lake/trips/eu/1/part-0.parquet", "eu/1", 1234},
		id + "2": {"s3a://lake/trips/eu/1/part-1 é%20.parquet", "eu/1", 77},
	}
	us := Source{"s3a://lake/trips/us/1/part-0.parquet", "us/1", 5}
	for _, release := range []string{"0.15", "1.1"} {
		t.Run(release, func(t *testing.T) {
			s := index(t, release)
			info, err := ReadInfo(t.Context(), s)
			if err != nil || info.BasePath != "s3a://lake/trips" || info.Keys != 2 || info.Created.Year() < 2020 {
				t.Errorf("info %+v, %v", info, err)
			}
			got, err := Sources(t.Context(), s, "region=eu/day=1")
			if err != nil || len(got) != 2 || got[id+"1"] != eu[id+"1"] || got[id+"2"] != eu[id+"2"] {
				t.Errorf("sources %+v, %v", got, err)
			}
			if got, err := Sources(t.Context(), s, "region=eu"); err != nil || len(got) != 0 {
				t.Errorf("sources of no partition %+v, %v", got, err)
			}
			for n, want := range eu {
				if got, err := Find(t.Context(), s, "region=eu/day=1", n); err != nil || got != want {
					t.Errorf("Find(%s) = %+v, %v", n, got, err)
				}
			}
			if got, err := Find(t.Context(), s, "region=us/day=1", id+"3"); err != nil || got != us {
				t.Errorf("Find = %+v, %v", got, err)
			}
			for _, absent := range [][2]string{{"region=us/day=1", id + "1"}, {"region=us/day=1", ""}, {"", id + "3"}} {
				if got, err := Find(t.Context(), s, absent[0], absent[1]); !errors.Is(err, ErrNoSource) {
					t.Errorf("Find(%q) = %+v, %v", absent, got, err)
				}
			}
		})
	}
}

func TestHalfAnIndex(t *testing.T) {
	for _, gone := range []string{partitionFile, fileIDFile} {
		s := index(t, "1.1")
		s.Remove(gone)
		if _, err := Find(t.Context(), s, "region=us/day=1", id+"3"); !errors.Is(err, ErrNoIndex) || !errors.Is(err, storage.ErrNotExist) {
			t.Errorf("Find without %s: %v", gone, err)
		}
		if _, err := ReadInfo(t.Context(), s); !errors.Is(err, ErrNoIndex) {
			t.Errorf("ReadInfo without %s: %v", gone, err)
		}
	}
}

func TestDamagedIndex(t *testing.T) {
	s := index(t, "1.1")
	data, err := storage.ReadFile(t.Context(), s, fileIDFile, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]int{"no HFile": len(data) - 4096, "a key length": 0x21, "the magic of a container": 0x70} {
		bad := slices.Clone(data)
		for i := range 16 {
			bad[at+i] = 0xff
		}
		s.Put(fileIDFile, bad)
		_, err := Find(t.Context(), s, "region=eu/day=1", id+"1")
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), fileIDFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBelow(t *testing.T) {
	for _, tt := range []struct{ uri, partition, base, want string }{
		{"file:/data/src/p=1/f.parquet", "p=1", "/data/src", "p=1/f.parquet"},
		{"file:/data/src/p=1/f.parquet", "p=1", "file:///data/src/", "p=1/f.parquet"},
		{"file:///data/src/f.parquet", "", "/data//src", "f.parquet"},
		{"/data/src/f.parquet", "", "file:/data/src", "f.parquet"},
		{"s3a://lake/trips/eu/a%20b.parquet", "eu", "s3://lake/trips", "eu/a%20b.parquet"},
		{"hdfs://nn:8020/w/f.parquet", "", "/w", "f.parquet"},
		{"hdfs://nn:8020/w/f.parquet", "", "hdfs:/w", "f.parquet"},
		{"f.parquet", "p=1", "/data/src", "p=1/f.parquet"},
		{"/f.parquet", "", "/", "f.parquet"},
		{"file:/data/src/x/../f.parquet", "", "/data/src", "f.parquet"},

		{"file:/data/other/f.parquet", "", "/data/src", ""},
		{"file:/data/src2/f.parquet", "", "/data/src", ""},
		{"file:/data/src/../f.parquet", "", "/data/src", ""},
		{"file:/data/src", "", "/data/src", ""},
		{"s3a://lake/trips/f.parquet", "", "s3a://pond/trips", ""},
		{"gs://lake/trips/f.parquet", "", "s3a://lake/trips", ""},
		{"..", "p", "/data/src", ""},
	} {
		got, err := Source{URI: tt.uri, Partition: tt.partition}.Below(tt.base)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s below %s = %q, %v, want %q", tt.uri, tt.base, got, err, tt.want)
		}
	}
}

func TestLocalPath(t *testing.T) {
	for uri, want := range map[string]string{
		"/a/b": "/a/b", "file:/a/b/": "/a/b", "file:///a/b": "/a/b", "s3a://a/b": "", "hdfs:/a": "", "a/b": "", "file://host/a": "",
	} {
		if got, ok := LocalPath(uri); ok != (want != "") || ok && got != want {
			t.Errorf("LocalPath(%q) = %q, %v", uri, got, ok)
		}
	}
}

// Each skeleton of the real bootstrapped tables has a source, which exists in the zip of the sources.
func TestCorpus(t *testing.T) {
	tables := tabletest.Glob(t, "*bootstrap_metadata*")
	if len(tables) == 0 {
		t.Skip("SKIPPED: there are no real bootstrapped tables")
	}
	found := 0
	for _, table := range tables {
		files := tabletest.Contents(t, table, nil)
		s := storagetest.NewMem(files)
		sources := tabletest.Contents(t, filepath.Join(filepath.Dir(table), "bootstrap_source.zip"), nil)
		info, err := ReadInfo(t.Context(), s)
		if err != nil {
			t.Fatalf("%s: %v", table, err)
		}
		for name := range files {
			if !strings.HasSuffix(name, "_"+Instant+".parquet") {
				continue
			}
			partition, base := path.Split(name)
			partition = strings.TrimSuffix(partition, "/")
			fileID, _, _ := strings.Cut(base, "_")
			src, err := Find(t.Context(), s, partition, fileID)
			if err != nil {
				t.Errorf("%s: %v", table, err)
				continue
			}
			rel, err := src.Below(info.BasePath)
			if data, ok := sources[rel]; err != nil || !ok || int64(len(data)) != src.Size {
				t.Errorf("%s: %s: source %q, %v, of %d bytes, want %d", table, name, rel, err, len(data), src.Size)
			}
			group, err := Sources(t.Context(), s, partition)
			if err != nil || group[fileID] != src {
				t.Errorf("%s: %s: both indexes disagree: %+v, %v", table, name, group, err)
			}
			found++
		}
	}
	if found == 0 {
		t.Error("no skeleton in any table")
	}
	t.Logf("%d skeletons of %d tables", found, len(tables))
}
