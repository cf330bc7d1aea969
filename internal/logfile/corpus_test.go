package logfile

import (
	"bytes"
	"errors"
	"path"
	"strings"
	"testing"

	"github.com/linkedin/goavro/v2"

	"github.com/hudifs/hudifs/internal/schema"
	"github.com/hudifs/hudifs/internal/tabletest"
)

// eachLog hands all log files of the real tables to f, as <case>/<path in the table>.
func eachLog(t *testing.T, f func(name string, content []byte)) {
	t.Helper()
	seen := 0
	isLog := func(p string) bool {
		_, ok := ParseName(path.Base(p))
		return ok
	}
	tables := tabletest.Glob(t, "[vxp]?_*") // testdata has not all kinds of blocks
	if len(tables) == 0 {
		t.Skip("SKIPPED: the collection of real tables is not beside the repository")
	}
	for _, table := range tables {
		for p, content := range tabletest.Contents(t, table, isLog) {
			seen++
			f(path.Join(tabletest.Name(table), p), content)
		}
	}
	if seen == 0 {
		t.Fatal("no log files in any table")
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
				list, err := listDeletes(content, b)
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
		records = append(records, bytes.Clone(r))
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
