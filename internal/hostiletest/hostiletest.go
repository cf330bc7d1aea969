// Package hostiletest holds readers of hostile input to a bound of what they allocate, and makes some of that input.
package hostiletest

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Allocates runs f, and fails the test where all that was allocated meanwhile, freed or not, is more than limit bytes. Nothing else may
// run at the time.
func Allocates(t testing.TB, limit int64, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if n := int64(after.TotalAlloc - before.TotalAlloc); n > limit {
		t.Errorf("%d bytes were allocated, at most %d expected", n, limit)
	}
}

// Keeps runs f, and fails the test where what f returned takes more than limit bytes of memory.
func Keeps[T any](t testing.TB, limit int64, f func() T) T {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	v := f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > limit {
		t.Errorf("%d bytes are kept, at most %d expected", n, limit)
	}
	runtime.KeepAlive(v)
	return v
}

// EditFooter changes what the footer of a Parquet file says.
func EditFooter(t testing.TB, file []byte, change func(*format.FileMetaData)) []byte {
	t.Helper()
	const tail = 8 // the footer's size and the magic
	end := len(file) - tail
	start := end - int(binary.LittleEndian.Uint32(file[end:]))
	protocol := new(thrift.CompactProtocol)
	var meta format.FileMetaData
	if err := thrift.Unmarshal(protocol, file[start:end], &meta); err != nil {
		t.Fatal(err)
	}
	change(&meta)
	footer, err := thrift.Marshal(protocol, &meta)
	if err != nil {
		t.Fatal(err)
	}
	out := append(append([]byte{}, file[:start]...), footer...)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(footer)))
	return append(out, "PAR1"...)
}

// ClaimRows makes the footer of a Parquet file say that its last row group has more rows than it has.
func ClaimRows(t testing.TB, file []byte, rows int64) []byte {
	t.Helper()
	return EditFooter(t, file, func(meta *format.FileMetaData) {
		g := &meta.RowGroups[len(meta.RowGroups)-1]
		more := rows - g.NumRows
		meta.NumRows += more
		g.NumRows += more
		for i := range g.Columns {
			g.Columns[i].MetaData.NumValues += more
		}
	})
}
