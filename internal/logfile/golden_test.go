package logfile

import (
	"encoding/hex"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// TestAnnotated reads the blocks of testdata/blocks.txt, which explains them byte by byte, and holds its offsets.
func TestAnnotated(t *testing.T) {
	text, err := os.ReadFile("testdata/blocks.txt")
	if err != nil {
		t.Fatal(err)
	}
	var file []byte
	for line := range strings.SplitSeq(string(text), "\n") {
		offset, rest, ok := strings.Cut(line, "  ")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		if want := fmt.Sprintf("%02x", len(file)); offset != want {
			t.Errorf("offset %s, want %s", offset, want)
		}
		digits, _, _ := strings.Cut(rest, "  ")
		b, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		file = append(file, b...)
	}
	log, err := scanBytes(file)
	if err != nil || len(log.Blocks) != 2 || len(log.Damage) != 0 {
		t.Fatalf("%+v, %v", log, err)
	}
	rollback, deletes := log.Blocks[0], log.Blocks[1]
	if !rollback.IsRollback() || rollback.Instant() != "20250126040936578" || rollback.Target() != "20250126040826878" {
		t.Errorf("%+v", rollback)
	}
	got, err := listDeletes(file, deletes)
	want := []Delete{{Key: []byte("k1"), Partition: []byte("p=0"), Ordering: []OrderingValue{{Kind: LongOrdering, Int: 40}}}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, %v", got, err)
	}
}
