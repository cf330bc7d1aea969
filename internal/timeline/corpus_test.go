package timeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/hudifs/hudifs/internal/avro"
	"github.com/hudifs/hudifs/internal/tabletest"
	"github.com/hudifs/hudifs/storage"
	"github.com/hudifs/hudifs/storage/storagetest"
)

// A corpusCase is one real table with what is known about it.
type corpusCase struct {
	name  string
	store *storagetest.Mem

	Version  int               `json:"table_version"`
	Timeline []expectedInstant `json:"timeline"`
}

// The corpus was made by three hands, which named the fields differently.
type expectedInstant struct {
	Action     string `json:"action"`
	Requested  string `json:"requested"`
	Instant    string `json:"instant"`
	Completed  string `json:"completed"`
	Completion string `json:"completion"`
	State      string `json:"state"`
}

func (e expectedInstant) name() string { return e.Requested + e.Instant + "." + e.Action }

// broken has the corpus cases whose configuration must be refused, and how.
var broken = map[string]error{
	"x6_broken_version_99":     ErrUnsupported,
	"x6_broken_type_unknown":   ErrUnsupported,
	"x9_broken_type_unknown":   ErrUnsupported,
	"x9_broken_checksum_wrong": ErrCorrupt,
	"x9_broken_no_properties":  ErrNotTable,
}

func corpus(t testing.TB) []corpusCase {
	t.Helper()
	root := filepath.Join("..", "..", "..", "shared", "corpus")
	files, err := filepath.Glob(filepath.Join(root, "*", "case.json"))
	if err != nil {
		t.Fatal(err)
	}
	peers, _ := filepath.Glob(filepath.Join(root, "peer", "*", "case.json"))
	files = append(files, peers...)
	if len(files) == 0 {
		t.Skipf("SKIPPED: there is no corpus of real tables at %s", root)
	}
	var cases []corpusCase
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		c := corpusCase{name: filepath.Base(filepath.Dir(file))}
		if err := json.Unmarshal(data, &c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		c.store = storagetest.NewMem(tabletest.Contents(t, filepath.Join(filepath.Dir(file), "table.zip"), ofTimelines))
		cases = append(cases, c)
	}
	return cases
}

// ofTimelines tells what belongs to timelines, the metadata table's own too.
func ofTimelines(path string) bool {
	return strings.Contains("/"+path, "/.hoodie/") &&
		(!strings.HasPrefix(path, ".hoodie/metadata/") || strings.HasPrefix(path, ".hoodie/metadata/.hoodie/"))
}

func TestCorpusTimelines(t *testing.T) {
	for _, c := range corpus(t) {
		t.Run(c.name, func(t *testing.T) {
			config, err := LoadConfig(t.Context(), c.store)
			if want, ok := broken[c.name]; ok {
				if !errors.Is(err, want) {
					t.Fatalf("LoadConfig: got error %v, want %v", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.Version != 0 && config.Version != c.Version {
				t.Errorf("version: got %d, want %d", config.Version, c.Version)
			}
			tl, err := Load(t.Context(), c.store, config)
			if err != nil {
				t.Fatal(err)
			}
			checkTimeline(t, tl, c.Timeline)
		})
	}
}

// checkTimeline compares what has completed, active and archived, with what the writer remembers. Instants that were
// rolled back are gone from both.
func checkTimeline(t *testing.T, tl *Timeline, expected []expectedInstant) {
	history, err := tl.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, undone := map[string]Instant{}, map[string]bool{}
	for _, in := range history {
		found[in.Time+"."+string(in.Action)] = in
		for _, name := range undoneBy(t, tl, in) {
			undone[name.Time] = true
		}
	}
	want := map[string]bool{}
	for _, e := range expected {
		want[e.name()] = true
		in, ok := found[e.name()]
		switch {
		case e.State == "inflight" || e.State == "requested":
			if ok {
				t.Errorf("%s has completed, want %s", e.name(), e.State)
			}
			continue
		case strings.HasPrefix(e.State, "not in active") && !ok:
			if !undone[e.Requested] {
				t.Errorf("%s is neither archived nor rolled back", e.name())
			}
			continue
		case !ok:
			t.Errorf("%s is missing", e.name())
			continue
		}
		if in.Archived != strings.HasPrefix(e.State, "not in active") {
			t.Errorf("%s: archived is %v, want state %q", e.name(), in.Archived, e.State)
		}
		wantCompletion := e.Completed + e.Completion
		if tl.Config().Layout == 1 {
			wantCompletion = in.Time
		}
		if in.CompletionTime != wantCompletion {
			t.Errorf("%s: completed at %s, want %s", e.name(), in.CompletionTime, wantCompletion)
		}
		if completed, ok, err := tl.CompletionTime(t.Context(), in.Time); in.Action.writes() && (completed != wantCompletion || !ok || err != nil) {
			t.Errorf("CompletionTime(%s) = %q, %v, %v, want %s", in.Time, completed, ok, err, wantCompletion)
		}
	}
	for name, in := range found {
		if in.Action.writes() && !want[name] {
			t.Errorf("%s is not known to the writer", name)
		}
	}
}

func undoneBy(t *testing.T, tl *Timeline, in Instant) []InstantName {
	switch in.Action {
	case ActionRollback:
		r, err := tl.Rollback(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return r.Instants
	case ActionRestore:
		r, err := tl.Restore(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		return r.Instants
	default:
		return nil
	}
}

// TestCorpusContents reads every file of every timeline, the metadata tables' too, and compares each Avro container with
// what goavro makes of it.
func TestCorpusContents(t *testing.T) {
	damaged := map[string]bool{"x9_broken_commit_garbage": true, "x6_broken_commit_garbage": true, "x6_broken_commit_first_garbage": true}
	seen := map[string]int{}
	for _, c := range corpus(t) {
		for _, dir := range []string{"", ".hoodie/metadata"} {
			s := storage.Sub(c.store, dir)
			load := LoadConfig
			if dir != "" {
				load = LoadMetadataConfig
			}
			config, err := load(t.Context(), s)
			if err != nil {
				noTable := dir != "" && errors.Is(err, ErrNotTable)
				if broken[c.name] == nil && !noTable {
					t.Errorf("%s: %s: %v", c.name, dir, err)
				}
				continue
			}
			tl, err := Load(t.Context(), s, config)
			if err != nil {
				t.Fatal(err)
			}
			history, err := tl.History(t.Context())
			if err != nil {
				t.Errorf("%s: %s: %v", c.name, dir, err)
			}
			archived := slices.DeleteFunc(history, func(in Instant) bool { return !in.Archived })
			for _, in := range append(tl.Instants(), archived...) {
				if err := readAll(t, c.name, tl, in, seen); err != nil && !damaged[c.name] {
					t.Errorf("%s: %s: %v", c.name, dir, err)
				}
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(seen)) {
		t.Logf("%6d  %s", seen[kind], kind)
	}
}

func readAll(t *testing.T, c string, tl *Timeline, in Instant, seen map[string]int) error {
	for _, state := range []State{Requested, Inflight, Completed} {
		file := in.file(state)
		if file.name == "" {
			continue
		}
		seen[string(in.Action)+" "+state.String()]++
		if err := compareContainer(t, tl, file.name); err != nil {
			return err
		}
	}
	if in.Archived {
		seen["archived "+string(in.Action)]++
	}
	if in.Planned == ActionCompaction {
		plan, err := tl.CompactionPlan(t.Context(), in)
		if err == nil && len(plan.Operations) == 0 {
			t.Errorf("%s: compaction %s has no operations", c, in.Time)
		}
		if err != nil {
			return err
		}
	}
	_, err := typed(t, tl, in)
	return err
}

// typed reads an instant with the method for its action.
func typed(t testing.TB, tl *Timeline, in Instant) (v any, err error) {
	switch {
	case in.Action == ActionCompaction || in.Action == ActionLogCompaction:
		return tl.CompactionPlan(t.Context(), in)
	case in.Action == ActionClustering:
		return tl.ReplacePlan(t.Context(), in)
	case in.Action.writes():
		return tl.Commit(t.Context(), in)
	case in.State != Completed:
		return nil, nil
	case in.Action == ActionClean:
		return tl.Clean(t.Context(), in)
	case in.Action == ActionRollback:
		return tl.Rollback(t.Context(), in)
	case in.Action == ActionRestore:
		return tl.Restore(t.Context(), in)
	case in.Action == ActionSavepoint:
		return tl.Savepoint(t.Context(), in)
	}
	return nil, nil
}

func compareContainer(t *testing.T, tl *Timeline, name string) error {
	file := path.Join(tl.config.TimelinePath, name)
	data, err := storage.ReadFile(t.Context(), tl.store, file, maxInstantFile)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(data, []byte(avro.Magic)) {
		return nil
	}
	rec, err := avro.Container(data, &avro.Schemas{})
	if err != nil {
		return avroError(file, err)
	}
	oracle, err := goavro.NewOCFReader(bytes.NewReader(data))
	if err != nil || !oracle.Scan() {
		t.Fatalf("%s: goavro: %v, %v", file, err, oracle.Err())
	}
	want, err := oracle.Read()
	if err != nil {
		t.Fatal(err)
	}
	if !agree(rec, plainOracle(want)) {
		t.Errorf("%s:\n got %v\nwant %v", file, rec, plainOracle(want))
	}
	return nil
}

// agree tells whether a decoded value is what goavro found.
func agree(got, want any) bool {
	switch got := got.(type) {
	case *avro.Record:
		m, ok := want.(map[string]any)
		for name, v := range m {
			ok = ok && agree(got.Get(name), v)
		}
		return ok
	case map[string]any:
		m, ok := want.(map[string]any)
		ok = ok && len(m) == len(got)
		for key, v := range m {
			ok = ok && agree(got[key], v)
		}
		return ok
	case []any:
		list, ok := want.([]any)
		ok = ok && len(list) == len(got)
		for i := 0; ok && i < len(list); i++ {
			ok = agree(got[i], list[i])
		}
		return ok
	}
	return reflect.DeepEqual(got, want)
}

// plainOracle unwraps goavro's unions and makes its integers alike.
func plainOracle(v any) any {
	switch v := v.(type) {
	case map[string]any:
		m := map[string]any{}
		for key, item := range v {
			isBranch := slices.Contains([]string{"string", "int", "long", "boolean", "double", "float", "bytes", "map", "array"}, key) ||
				strings.HasPrefix(key, "org.apache.hudi.")
			if len(v) == 1 && isBranch {
				return plainOracle(item)
			}
			m[key] = plainOracle(item)
		}
		return m
	case []any:
		list := []any{}
		for _, item := range v {
			list = append(list, plainOracle(item))
		}
		return list
	case int32:
		return int64(v)
	case float32:
		return float64(v)
	}
	return v
}
