package hudi

import (
	"fmt"
	"strings"

	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/merge"
)

const payloads = "org.apache.hudi.common.model."

// strategies are the ids of Hudi's own mergers (hudi-common: HoodieRecordMerger).
var strategies = map[string]merge.Mode{
	"eeb8d96f-b1e4-49fd-bbf8-28ac514178e5": merge.EventTime,
	"ce9acb64-bde0-424c-9b91-f6ebba25356d": merge.CommitTime,
}

// rulesOf finds the rules by which a table's records are merged, or why nobody here can merge them
// (hudi-common: HoodieTableConfig.inferMergingConfigsForPreV9Table).
func rulesOf(c *timeline.Config, want MergeRules) (merge.Rules, error) {
	legacy := want == Rules0 || want == RulesOfVersion && c.Version < 8
	r := merge.Rules{Legacy: legacy}
	if c.PartialUpdateMode != "" {
		return r, fmt.Errorf("%w: merging with partial update mode %s", ErrUnsupported, c.PartialUpdateMode)
	}
	switch c.MergeMode {
	case "COMMIT_TIME_ORDERING":
		return r, nil
	case "EVENT_TIME_ORDERING":
		r.Mode = merge.EventTime
		return r, nil
	case "":
	default:
		return r, fmt.Errorf("%w: merging by a class of the table's own (merge mode %s, payload %s, strategy %s)",
			ErrUnsupported, c.MergeMode, c.PayloadClass, c.MergeStrategyID)
	}
	var err error
	r.Mode, err = inferredMode(c, legacy)
	return r, err
}

// inferredMode is the mode of a table that does not state it: its payload class decides, or where that is missing its merge strategy.
func inferredMode(c *timeline.Config, legacy bool) (merge.Mode, error) {
	switch class := strings.TrimPrefix(c.PayloadClass, payloads); class {
	case "OverwriteWithLatestAvroPayload":
		return merge.CommitTime, nil
	case "DefaultHoodieRecordPayload", "EventTimeAvroPayload":
		return merge.EventTime, nil
	case "":
	default:
		return merge.CommitTime, fmt.Errorf("%w: merging with payload class %s", ErrUnsupported, c.PayloadClass)
	}
	if legacy {
		return merge.CommitTime, nil // 0.x takes OverwriteWithLatestAvroPayload for the default
	}
	if c.MergeStrategyID != "" {
		m, ok := strategies[c.MergeStrategyID]
		if !ok {
			return m, fmt.Errorf("%w: merging with strategy %s", ErrUnsupported, c.MergeStrategyID)
		}
		return m, nil
	}
	if len(c.OrderingFields) > 0 {
		return merge.EventTime, nil
	}
	return merge.CommitTime, nil
}
