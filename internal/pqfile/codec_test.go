package pqfile

import (
	"bytes"
	"testing"

	"github.com/parquet-go/parquet-go/format"
)

// Pages of any size are the same whatever codec they have, the large ones too.
func TestLargePages(t *testing.T) {
	want := make([]byte, largePage+1000)
	for i := range want {
		want[i] = byte(i / 1000)
	}
	for _, codec := range []format.CompressionCodec{format.Snappy, format.Gzip, format.Zstd} {
		src, err := compress(codec, nil, want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := inflateLarge(codec, src, len(want))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%v: %d bytes of %d, or other ones, %v", codec, len(got), len(want), err)
		}
		for _, size := range []int{len(want) - 1, len(want) + 1} {
			if _, err := inflateLarge(codec, src, size); err == nil {
				t.Errorf("%v: %d bytes were taken for %d", codec, len(want), size)
			}
		}
	}
}
