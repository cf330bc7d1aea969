package hudi

import (
	"context"
	"path"
	"strings"

	"github.com/hudifs/hudifs/internal/timeline"
)

// slicing shows a timeline to fsview.
type slicing struct{ tl *timeline.Timeline }

func (s slicing) IsCommitted(instant string) bool { return s.tl.IsCommitted(instant) }

func (s slicing) CompletionTime(ctx context.Context, instant string) (string, bool, error) {
	return s.tl.CompletionTime(ctx, instant)
}

func (s slicing) BaseFile(ctx context.Context, instant, partition, fileID string) (string, error) {
	for _, w := range s.tl.CompletedWrites() {
		if w.Time != instant {
			continue
		}
		m, err := s.tl.Commit(ctx, w)
		if err != nil {
			return "", err
		}
		for _, st := range m.Stats {
			name := path.Base(st.Path)
			if st.FileID == fileID && st.PartitionPath == partition && !strings.HasPrefix(name, ".") {
				return name, nil
			}
		}
	}
	return "", nil
}
