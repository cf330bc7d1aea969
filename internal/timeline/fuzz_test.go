package timeline

import (
	"errors"
	"testing"
)

func FuzzCommitMetadata(f *testing.F) {
	f.Add([]byte(""))
	for _, name := range []string{"v6.deltacommit", "v9.deltacommit", "v9.replacecommit"} {
		f.Add([]byte(realFile(f, name)))
	}
	f.Add([]byte(`{"partitionToWriteStats":{"p":[{"fileId":"a","cdcStats":{"x":1},"logFiles":["l"]}]},"extraMetadata":{"schema":"s"},"partitionToReplaceFileIds":{"p":["x"]}}`))
	f.Add([]byte(container(f, replacePlanSchema, map[string]any{"operationType": text("CLUSTER")})))
	f.Add([]byte(container(f, cleanSchema, map[string]any{"earliestCommitToRetain": "1"})))
	f.Add([]byte(container(f, commitSchema, map[string]any{
		"partitionToWriteStats": map[string]any{"map": map[string]any{"p": []any{map[string]any{"fileId": text("a"), "prevCommit": text("null"), "numWrites": map[string]any{"long": 7}}}}},
		"extraMetadata":         map[string]any{"map": map[string]any{"schema": "s"}},
	})))
	f.Fuzz(func(t *testing.T, data []byte) {
		tl := &Timeline{memo: newMemo()}
		c, err := tl.sniff("f", data, nil)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrUnsupported) {
				t.Error(err)
			}
			return
		}
		fields := &fields{file: c.file}
		commit := parseCommit(fields, c.rec)
		if len(commit.Stats) > 8*len(data)+1024 {
			t.Errorf("%d write stats from %d bytes", len(commit.Stats), len(data))
		}
		if fields.err != nil && !errors.Is(fields.err, ErrCorrupt) {
			t.Error(fields.err)
		}
	})
}
