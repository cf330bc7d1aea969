package render_test

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hudifs/hudifs/internal/render"
)

// Beside what becomes of each record, memory does not grow with the log: here it has 24 MiB, two thirds of them in one column, of which one is decoded at once.
func TestMemoryOfLargeLogs(t *testing.T) {
	const least, most = 24 << 20, 12 << 20
	avro := avroOf(slices.Concat(metaFields, []string{field("ts", `"long"`), field("text", `"string"`), field("other", `"string"`)})...)
	rowOf := func(i int, instant string, length int) row {
		key := fmt.Sprintf("key-%09d", i)
		return row{
			"_hoodie_record_key": key, "_hoodie_commit_time": instant, "_hoodie_commit_seqno": instant + "_0_1", "_hoodie_partition_path": "", "_hoodie_file_name": "f",
			"ts": int64(i), "text": strings.Repeat("text", length), "other": key + instant,
		}
	}
	target := targetOf(t, avro)
	var base, rows []row
	for i := range 2000 {
		base = append(base, rowOf(2*i, "001", 1))
		rows = append(rows, rowOf(i, "002", 50))
	}
	s := slice{base: baseFile(t, target, vectors(t, avro, target, base), fixed(len(base), 100, 1))}
	blockOf := dataBlock(t, "002", avro, rows)
	for size := 0; size < least; size += len(blockOf) {
		s.logs = append(s.logs, blockOf) // with the same keys: the newest counts
	}
	// And so with deletes of the same keys.
	s.logs = append(s.logs, func() []byte {
		var deletes []del
		for i := range least / 160 {
			deletes = append(deletes, del{key: fmt.Sprintf("key-%09d", i%len(rows))})
		}
		return deleteBlock("002", deletes...)
	}())
	for i := range rows {
		rows[i] = rowOf(i+100_000, "003", 50)
	}
	s.logs = append(s.logs, dataBlock(t, "003", avro, rows))
	s.input = render.Input{Target: target, Ordering: []string{"ts"}}
	in, err := s.open()
	if err != nil {
		t.Fatal(err)
	}
	size, ok, err := in.Bound()
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	defer render.DecodeAtOnce(1 << 20)()
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	peak := peakMemory(func() { err = in.Render(t.Context(), discard{}, size) })
	if err != nil || peak > most {
		t.Errorf("rendered with %d KiB of memory, expected %d at most; %v", peak>>10, most>>10, err)
	}
	t.Logf("%d log files, %d KiB of memory", len(s.logs), peak>>10)
}

// discard is a file that nothing is kept of.
type discard struct{}

func (discard) WriteAt(p []byte, _ int64) (int, error) { return len(p), nil }

// peakMemory is by how much the heap grows at most while f runs.
func peakMemory(f func()) uint64 {
	read := func() uint64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	runtime.GC()
	before, most := read(), uint64(0)
	var done atomic.Bool
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for !done.Load() {
			most = max(most, read())
			time.Sleep(time.Millisecond)
		}
	}()
	f()
	done.Store(true)
	<-watched
	return most - min(before, most)
}
