package logfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/hudifs/hudifs/internal/schema"
)

var corpusDir = filepath.Join("..", "..", "..", "shared", "corpus")

// eachLog hands all log files of the real tables to f, as <case>/<path in the table>.
func eachLog(t *testing.T, f func(name string, content []byte)) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(corpusDir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(p) != ".zip" {
			return err
		}
		z, err := zip.OpenReader(p)
		if err != nil {
			return err
		}
		defer z.Close()
		for _, e := range z.File {
			if _, ok := ParseName(path.Base(e.Name)); !ok {
				continue
			}
			r, err := e.Open()
			if err != nil {
				return err
			}
			content, err := io.ReadAll(r)
			if err != nil {
				return err
			}
			seen++
			rel, err := filepath.Rel(corpusDir, p)
			if err != nil {
				return err
			}
			f(path.Join(filepath.ToSlash(filepath.Dir(rel)), e.Name), content)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("SKIPPED: there are no real tables at %s", corpusDir)
	}
	if err != nil {
		t.Fatal(err)
	}
	if seen == 0 {
		t.Fatalf("no log files at %s", corpusDir)
	}
}

// TestCorpus reads every block of every log file that a real writer left behind.
func TestCorpus(t *testing.T) {
	blocks, records, deletes, refused := map[BlockType]int{}, 0, 0, map[string]int{}
	codecs := map[string]*goavro.Codec{}
	eachLog(t, func(name string, content []byte) {
		log, err := Scan(bytes.NewReader(content), int64(len(content)))
		broken := strings.Contains(name, "_broken_")
		if err != nil {
			if !broken {
				t.Errorf("%s: %v", name, err)
			}
			return
		}
		if len(log.Damage) > 0 && !broken {
			t.Errorf("%s: %v", name, log.Damage)
		}
		for _, b := range log.Blocks {
			blocks[b.Type]++
			switch b.Type {
			case DeleteBlock:
				list, err := Deletes(bytes.NewReader(content), b)
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
				deletes += len(list)
			case AvroData:
				n, err := checkAvroBlock(t, codecs, content, b)
				if errors.Is(err, errRefused) {
					refused[err.Error()]++
				} else if err != nil && !strings.Contains(name, "_avro_strlen") {
					t.Errorf("%s: block at %d: %v", name, b.Offset, err)
				}
				records += n
			default:
			}
		}
	})
	t.Logf("blocks %v; %d Avro records, %d deletes", blocks, records, deletes)
	for why, n := range refused {
		t.Logf("SKIPPED %d blocks: %s", n, why)
	}
	if blocks[AvroData] == 0 || records == 0 || deletes == 0 {
		t.Error("nothing was compared")
	}
}

var errRefused = errors.New("goavro refuses the schema")

func checkAvroBlock(t *testing.T, codecs map[string]*goavro.Codec, content []byte, b Block) (int, error) {
	text := bare(b.Schema())
	codec, ok := codecs[text]
	if !ok {
		var err error
		if codec, err = goavro.NewCodec(text); err != nil {
			t.Logf("goavro: %v", err)
		}
		codecs[text] = codec
	}
	var records [][]byte
	for r, err := range Records(bytes.NewReader(content), b) {
		if err != nil {
			return 0, err
		}
		records = append(records, r)
	}
	if strings.Contains(b.Schema(), `"HoodieArchivedMetaEntry"`) {
		// No table: whole records are all that is wanted of these.
		for _, r := range records {
			if _, rest, err := codec.NativeFromBinary(r); err != nil || len(rest) > 0 {
				return 0, errors.Join(err, errors.New("not a whole record"))
			}
		}
		return len(records), nil
	}
	b.schema = &schemaMemo{text: text}
	d, err := OpenData(bytes.NewReader(content), b)
	if err != nil {
		return 0, err
	}
	typ := d.content.(*avroContent).typ
	target, err := schema.Target(typ, nil)
	if err != nil {
		return 0, err
	}
	if codec == nil {
		all := make([]int, len(target.Leaves))
		for i := range all {
			all[i] = i
		}
		if _, err := d.Columns(target, all); err != nil {
			return 0, err
		}
		return 0, errRefused
	}
	return len(records), checkAgainst(codec, d, typ, target, records)
}
