package hudi

import (
	"fmt"
	"strings"

	"github.com/hudifs/hudifs/internal/render"
	"github.com/hudifs/hudifs/internal/timeline"
	"github.com/hudifs/hudifs/merge"
)

// rules are how the records of a table are merged.
type rules struct {
	merge.Rules
	// name is the merge mode or payload class that they come from.
	name    string
	deletes render.Deletes
	// sequence and unavailable are those of render.Input.
	sequence, unavailable string
}

const (
	payloads     = "org.apache.hudi.common.model."
	markerField  = "hoodie.payload.delete.field"
	markerValue  = "hoodie.payload.delete.marker"
	notAvailable = "hoodie.write.partial.update.unavailable.value"

	debeziumOperation   = "_change_operation_type"
	debeziumUnavailable = "__debezium_unavailable_value"
)

// strategies are the ids of Hudi's own mergers (hudi-common: HoodieRecordMerger).
var strategies = map[string]string{
	"eeb8d96f-b1e4-49fd-bbf8-28ac514178e5": eventTimeMode,
	"ce9acb64-bde0-424c-9b91-f6ebba25356d": commitTimeMode,
}

const (
	commitTimeMode = "COMMIT_TIME_ORDERING"
	eventTimeMode  = "EVENT_TIME_ORDERING"
)

// rulesOf finds the rules by which a table's records are merged, or why nobody here can merge them
// (hudi-common: HoodieTableConfig.inferMergingConfigsForPreV9Table).
func rulesOf(c *timeline.Config, want MergeRules) (rules, error) {
	legacy := want == Rules0 || want == RulesOfVersion && c.Version < 8
	marker := render.Deletes{Field: c.MergeProperties[markerField], Marker: c.MergeProperties[markerValue]}
	if c.MergeMode == commitTimeMode || c.MergeMode == eventTimeMode {
		return modeRules(c, c.MergeMode, marker)
	}
	class := strings.TrimPrefix(c.PayloadClass, payloads)
	if legacy {
		return legacyRules(class, marker)
	}
	if class == "" || c.MergeMode == "" {
		mode, err := inferredMode(c, class)
		if err != nil || mode != "" {
			r, _ := modeRules(c, mode, marker)
			return r, err
		}
	}
	return payloadRules(c, class, marker)
}

// modeRules are those of a merge mode, with a partial update mode.
func modeRules(c *timeline.Config, mode string, marker render.Deletes) (rules, error) {
	r := rules{Rules: merge.CommitTime, name: mode, deletes: marker}
	if mode == eventTimeMode {
		r.Rules = merge.EventTime
		r.PlainDeletes = c.Version == 8
	}
	switch c.PartialUpdateMode {
	case "":
	case "IGNORE_DEFAULTS":
		r.Fold.Take, r.Base.Take = merge.TakeNulls, merge.TakeNulls
	case "FILL_UNAVAILABLE":
		r.Fold.Take, r.Base.Take = merge.TakeUnavailable, merge.TakeUnavailable
		if r.unavailable = c.MergeProperties[notAvailable]; r.unavailable == "" {
			r.unavailable = debeziumUnavailable
		}
	default:
		return r, fmt.Errorf("%w: merging with partial update mode %s", ErrUnsupported, c.PartialUpdateMode)
	}
	return r, nil
}

// inferredMode is the mode of a table that does not state it, read by 1.x: its payload class decides, or where that is missing its
// merge strategy. It is "" for a payload class with rules of its own.
func inferredMode(c *timeline.Config, class string) (string, error) {
	switch class {
	case "OverwriteWithLatestAvroPayload":
		return commitTimeMode, nil
	case "DefaultHoodieRecordPayload", "EventTimeAvroPayload":
		return eventTimeMode, nil
	case "":
	default:
		return "", nil
	}
	switch mode := strategies[c.MergeStrategyID]; {
	case mode != "":
		return mode, nil
	case c.MergeStrategyID != "":
		return commitTimeMode, fmt.Errorf("%w: merging with strategy %s", ErrUnsupported, c.MergeStrategyID)
	case len(c.OrderingFields) > 0:
		return eventTimeMode, nil
	}
	return commitTimeMode, nil
}

// legacyRules are what the payload classes of 0.x do: preCombine folds log records, combineAndGetUpdateValue meets a base row.
func legacyRules(class string, marker render.Deletes) (rules, error) {
	r := rules{name: class, deletes: marker}
	r.Legacy = true
	r.Fold.Ordering = true
	switch class {
	case "", "OverwriteWithLatestAvroPayload":
		r.deletes = render.Deletes{}
	case "DefaultHoodieRecordPayload", "EventTimeAvroPayload":
		r.Base.Ordering = true
		r.deletes.MarkerOnly = marker.Field != ""
	case "OverwriteNonDefaultsWithLatestAvroPayload":
		r.Base.Take = merge.TakeNulls
	case "PartialUpdateAvroPayload":
		r.Fold = merge.Weigh{Ordering: true, Take: merge.TakeNulls, NewerMeta: true}
		r.Base = r.Fold
	case "FirstValueAvroPayload":
		r.Fold.OlderOnTie = true
		r.Base = r.Fold
	case "AWSDmsAvroPayload":
		r.deletes = render.Deletes{Field: "Op", Marker: "D", FoldCase: true}
	case "debezium.PostgresDebeziumAvroPayload":
		r.Base = merge.Weigh{Ordering: true, Take: merge.TakeUnavailable}
		r.unavailable = debeziumUnavailable
		r.deletes = render.Deletes{Field: debeziumOperation, Marker: "d"}
	case "debezium.MySqlDebeziumAvroPayload":
		r.Base = merge.Weigh{Ordering: true, Sequence: true, OlderOnTie: true}
		r.sequence = "_event_seq"
		r.deletes = render.Deletes{Field: debeziumOperation, Marker: "d"}
	default:
		return r, unknownPayload(class)
	}
	return r, nil
}

// payloadRules are what 1.x makes of a payload class in a table with merge mode CUSTOM: combineAndGetUpdateValue, between log records too.
func payloadRules(c *timeline.Config, class string, marker render.Deletes) (rules, error) {
	r := rules{name: class, deletes: marker}
	// 1.0 weighs deletes by ordering values. Tables that 0.x wrote are read by 1.1, where they act in commit order.
	r.DeletesInOrder, r.DeletesByOrdering = c.Version < 8, c.Version >= 8
	switch class {
	case "EventTimeAvroPayload":
		r.Fold.Ordering = true
	case "OverwriteNonDefaultsWithLatestAvroPayload":
		r.Fold.Take = merge.TakeNulls
	case "PartialUpdateAvroPayload":
		r.Fold = merge.Weigh{Ordering: true, Take: merge.TakeNulls, NewerMeta: true}
	case "FirstValueAvroPayload":
		r.Fold = merge.Weigh{Ordering: true, OlderOnTie: true}
	case "AWSDmsAvroPayload":
		r.deletes = render.Deletes{Field: "Op", Marker: "D", FoldCase: true}
	case "debezium.PostgresDebeziumAvroPayload":
		r.Fold.Ordering = true
		if c.Version >= 8 { // 1.1 leaves the text standing in tables of 0.x
			r.Fold.Take, r.unavailable = merge.TakeUnavailable, debeziumUnavailable
		}
		r.deletes = render.Deletes{Field: debeziumOperation, Marker: "d"}
	case "debezium.MySqlDebeziumAvroPayload":
		r.Fold = merge.Weigh{Ordering: true, Sequence: true, OlderOnTie: c.Version >= 8}
		r.sequence = "_event_seq"
		r.deletes = render.Deletes{Field: debeziumOperation, Marker: "d"}
	default:
		return r, unknownPayload(class + " (merge mode " + c.MergeMode + ", strategy " + c.MergeStrategyID + ")")
	}
	r.Base = r.Fold
	return r, nil
}

func unknownPayload(class string) error {
	return fmt.Errorf("%w: merging by a class of the table's own, %s", ErrUnsupported, class)
}

// useMerger takes the caller's merger for a table that no rules are known for.
func (st *state) useMerger(mergers map[string]merge.Merger) {
	for _, name := range []string{st.config.PayloadClass, st.config.MergeStrategyID} {
		if m := mergers[name]; m != nil && name != "" {
			marker := render.Deletes{Field: st.config.MergeProperties[markerField], Marker: st.config.MergeProperties[markerValue]}
			st.merger, st.rules, st.unmergeable = m, rules{name: "merger of " + name, deletes: marker}, nil
			return
		}
	}
}
