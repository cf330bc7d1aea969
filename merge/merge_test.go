package merge_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/hudifs/hudifs/merge"
)

// step is one log record in the notation of the tables below: "k7" writes key k with ordering 7, "-k7" deletes it with
// ordering 7, "-k" deletes it without one.
func step(n int32, text string) ([]byte, merge.Entry) {
	e := merge.Entry{Record: n}
	text, e.Delete = strings.TrimPrefix(text, "-"), strings.HasPrefix(text, "-")
	if len(text) == 1 {
		e.Unordered = true
		e.Ordering = merge.AppendNull(nil)
		return []byte(text), e
	}
	var v int64
	fmt.Sscan(text[1:], &v)
	e.Ordering = merge.AppendInt(nil, v)
	return []byte(text[:1]), e
}

func TestFoldAndMatch(t *testing.T) {
	commit, event := merge.CommitTime, merge.EventTime
	overwrite, def := merge.EventTime, merge.EventTime
	overwrite.Base.Ordering = false
	overwrite.Legacy, def.Legacy = true, true
	for _, c := range []struct {
		log, base string
		// What becomes of the base row, or of the key where there is none: the log record that stands, "base", or "gone".
		commit, event, overwrite, def string
	}{
		{"a20", "a10", "a20", "a20", "a20", "a20"},
		{"a5", "a10", "a5", "base", "a5", "base"},
		{"a10", "a10", "a10", "a10", "a10", "a10"},
		{"a20 a15", "a10", "a15", "a20", "a20", "a20"},
		{"a20 a20", "a10", "a20#1", "a20#1", "a20#1", "a20#1"},
		{"a20 a15", "", "a15", "a20", "a20", "a20"},
		{"-a", "a10", "gone", "gone", "gone", "gone"},
		{"-a5", "a10", "gone", "base", "gone", "gone"},
		{"-a10", "a10", "gone", "gone", "gone", "gone"},
		{"a20 -a12", "a10", "gone", "a20", "a20", "a20"},
		{"a20 -a20", "a10", "gone", "gone", "gone", "gone"},
		{"-a20 a15", "a10", "a15", "gone", "a15", "a15"},
		{"-a20 a15", "", "a15", "gone", "a15", "a15"},
		{"-a a5", "a10", "a5", "base", "a5", "base"},
		{"-a a5", "", "a5", "a5", "a5", "a5"},
		{"a20 -a a3", "", "a3", "a3", "a3", "a3"},
		{"-a -a30 a15", "", "a15", "a15", "a15", "a15"},
		{"-a20", "", "gone", "gone", "gone", "gone"},
	} {
		for i, want := range []string{c.commit, c.event, c.overwrite, c.def} {
			r := []merge.Rules{commit, event, overwrite, def}[i]
			if got := outcome(r, c.log, c.base); got != want {
				t.Errorf("%+v: log %q on base %q: %s, want %s", r, c.log, c.base, got, want)
			}
		}
	}
}

// TestDeletesBase holds a delete that is older than its base row: it takes the row away, and folds as ever among log records.
func TestDeletesBase(t *testing.T) {
	always := merge.EventTime
	always.DeletesBase = true
	for _, c := range []struct{ log, base, want string }{
		{"-a5", "a10", "gone"},
		{"-a5", "", "gone"},
		{"a20 -a5", "a10", "a20"},
		{"a5", "a10", "base"},
	} {
		if got := outcome(always, c.log, c.base); got != c.want {
			t.Errorf("log %q on base %q: %s, want %s", c.log, c.base, got, c.want)
		}
	}
}

func outcome(r merge.Rules, log, base string) string {
	l := merge.NewLog(r)
	steps := strings.Fields(log)
	for i, s := range steps {
		l.Add(step(int32(i), s))
	}
	name := func(n int32) string {
		for i, s := range steps {
			if s == steps[n] && int32(i) != n {
				return fmt.Sprintf("%s#%d", s, n)
			}
		}
		return steps[n]
	}
	if base != "" {
		key, e := step(0, base)
		switch v, n := l.Match(key, e.Ordering); v {
		case merge.Keep:
			return "base"
		case merge.Replace:
			return name(n)
		case merge.Drop:
		}
		if len(l.Inserts()) > 0 {
			return "inserted though it met a base row"
		}
		return "gone"
	}
	if in := l.Inserts(); len(in) == 1 {
		return name(in[0])
	}
	return "gone"
}

func TestOnlyTheFirstOfEqualKeysMeetsTheLog(t *testing.T) {
	l := merge.NewLog(merge.CommitTime)
	l.Add(step(0, "a2"))
	if v, _ := l.Match([]byte("a"), nil); v != merge.Replace {
		t.Errorf("first row: %v", v)
	}
	if v, _ := l.Match([]byte("a"), nil); v != merge.Keep {
		t.Errorf("second row: %v", v)
	}
}

func TestInsertsComeInLogOrder(t *testing.T) {
	l := merge.NewLog(merge.EventTime)
	for i, s := range strings.Fields("c1 a1 b1 -d1 a2 e9") {
		l.Add(step(int32(i), s))
	}
	if got := fmt.Sprint(l.Inserts()); got != "[0 4 2 5]" {
		t.Errorf("inserts %s", got)
	}
}

func TestEncodingsCompareAsValues(t *testing.T) {
	dec := func(s string) []byte { v, _ := new(big.Int).SetString(s, 10); return merge.AppendDecimal(nil, v) }
	for name, ascending := range map[string][][]byte{
		"ints":   {merge.AppendNull(nil), merge.AppendInt(nil, math.MinInt64), merge.AppendInt(nil, -1), merge.AppendInt(nil, 0), merge.AppendInt(nil, math.MaxInt64)},
		"floats": {merge.AppendNull(nil), merge.AppendFloat(nil, math.Inf(-1)), merge.AppendFloat(nil, -1.5), merge.AppendFloat(nil, math.Copysign(0, -1)), merge.AppendFloat(nil, 0), merge.AppendFloat(nil, 1e300), merge.AppendFloat(nil, math.NaN())},
		"texts":  {merge.AppendNull(nil), merge.AppendBytes(nil, nil), merge.AppendBytes(nil, []byte("\x00")), merge.AppendBytes(nil, []byte("\x00a")), merge.AppendBytes(nil, []byte("10")), merge.AppendBytes(nil, []byte("9")), merge.AppendBytes(nil, []byte("99")), merge.AppendBytes(nil, []byte("ü"))},
		"decimals": {
			dec("-99999999999999999999999999999999999999999999999999999999999999999999999999"), dec("-1"), dec("0"), dec("1"), dec("256"),
			dec("99999999999999999999999999999999999999999999999999999999999999999999999999"),
		},
		"pairs": {
			merge.AppendInt(merge.AppendBytes(nil, []byte("a")), 9), merge.AppendInt(merge.AppendBytes(nil, []byte("a\x00")), 1),
			merge.AppendInt(merge.AppendBytes(nil, []byte("aa")), 1), merge.AppendInt(merge.AppendBytes(nil, []byte("b")), 0),
		},
	} {
		for i := 1; i < len(ascending); i++ {
			if bytes.Compare(ascending[i-1], ascending[i]) >= 0 {
				t.Errorf("%s: value %d does not come before value %d", name, i-1, i)
			}
		}
	}
}

// Room is made for keys and values as long as the first, but not where it is of no usual length.
func TestLongFirstKey(t *testing.T) {
	l := merge.NewLog(merge.EventTime)
	l.Reserve(1 << 20)
	long := bytes.Repeat([]byte("k"), 1<<24)
	l.Add(long, merge.Entry{Record: 1, Ordering: long})
	l.Add(long, merge.Entry{Record: 2, Ordering: long})
	l.Add([]byte("b"), merge.Entry{Record: 3, Ordering: []byte("1")})
	if got := fmt.Sprint(l.Inserts()); got != "[2 3]" {
		t.Errorf("inserts %s", got)
	}
}
