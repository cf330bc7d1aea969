package timeline

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

const (
	// Earliest compares less than every instant. It is the range end that Hudi's users write as 000.
	Earliest = "000"
	// Latest compares greater than every instant, because a letter is greater than all digits.
	Latest = "latest"

	secondDigits = 14 // yyyyMMddHHmmss, the instants of releases before 0.10
	milliDigits  = 17 // yyyyMMddHHmmssSSS

	instantLayout = "20060102150405.000"
)

// ErrTime is the error of a text that names no time.
var ErrTime = errors.New("not a time")

// FormatTime writes t as an instant of 17 digits in zone (hudi-common: HoodieInstantTimeGenerator).
func FormatTime(t time.Time, zone *time.Location) string {
	return strings.Replace(t.In(zone).Format(instantLayout), ".", "", 1)
}

// TimeOf reads an instant as a time in zone, for people and for modification times, never for comparisons. An instant of 14
// digits is the end of its second, one of more than 17 counts with its first 17. ok is false for instants that are no
// dates.
func TimeOf(instant string, zone *time.Location) (t time.Time, ok bool) {
	switch {
	case !digits(instant):
		return time.Time{}, false
	case len(instant) == secondDigits:
		instant += "999"
	case len(instant) < milliDigits:
		return time.Time{}, false
	}
	t, err := time.ParseInLocation(instantLayout, instant[:secondDigits]+"."+instant[secondDigits:milliDigits], zone)
	return t, err == nil
}

// ParseTime reads what a person writes for an instant and returns it as one to compare with:
//
//	20261130002208095, 20261130002208    itself
//	000, earliest                        Earliest
//	latest                               Latest
//	2026-11-30                           20261130000000000, the start of the day
//	2026-11-30 00:22:08                  20261130002208999, the end of the second: Hudi's rule
//	2026-11-30 00:22:08.095              20261130002208095
//	2026-11-30T00:22:08+01:00            RFC 3339: the start, moved to zone
//
// Zone is the one in which the timeline's instants were formatted (Config.Location); only RFC 3339 needs it. The error
// is an ErrTime.
func ParseTime(text string, zone *time.Location) (string, error) {
	switch {
	case text == Latest:
		return Latest, nil
	case text == "earliest" || text == Earliest:
		return Earliest, nil
	case digits(text) && (len(text) == secondDigits || len(text) == milliDigits):
		return text, nil
	}
	for _, form := range []struct{ layout, rest string }{
		{"2006-01-02", "000000000"},
		{"2006-01-02 15:04:05", "999"},
		{"2006-01-02 15:04:05.000", ""},
	} {
		// Other lengths are forms that time.Parse takes too, such as fractions of any length.
		if len(text) != len(form.layout) {
			continue
		}
		instant := strings.NewReplacer("-", "", " ", "", ":", "", ".", "").Replace(text) + form.rest
		if _, err := time.Parse(form.layout, text); err == nil && len(instant) == milliDigits && digits(instant) {
			return instant, nil
		}
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		if instant := FormatTime(t, zone); len(instant) == milliDigits && digits(instant) {
			return instant, nil
		}
	}
	return "", fmt.Errorf("%q: %w: expected an instant of 14 or 17 digits, 2026-11-30, 2026-11-30 00:22:08, "+
		"2026-11-30 00:22:08.095, RFC 3339, 000, earliest or latest", text, ErrTime)
}

// ParseTime is the function ParseTime, and takes every instant of the active timeline by its name, whatever its form.
func (t *Timeline) ParseTime(text string, zone *time.Location) (string, error) {
	for _, in := range t.instants {
		if in.Time == text || in.CompletionTime == text && text != "" {
			return text, nil
		}
	}
	return ParseTime(text, zone)
}
