package timeline

import (
	"errors"
	"testing"
	"time"
)

func TestParseTime(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	for text, want := range map[string]string{
		"20261130002208095":                "20261130002208095",
		"20261130002208":                   "20261130002208",
		"99999999999999":                   "99999999999999",
		"000":                              Earliest,
		"earliest":                         Earliest,
		"latest":                           Latest,
		"2026-11-30":                       "20261130000000000",
		"2026-11-30 00:22:08":              "20261130002208999",
		"2026-11-30 00:22:08.095":          "20261130002208095",
		"2026-11-30T00:22:08Z":             "20261130012208000",
		"2026-11-30T00:22:08.0957Z":        "20261130012208095",
		"2026-12-31T23:30:00+00:00":        "20270101003000000",
		"2026-11-30T00:22:08+05:30":        "20261129195208000",
		"2026-11-30t00:22:08z":             "",
		"":                                 "",
		"0":                                "",
		"001":                              "",
		"20261130":                         "",
		"2026":                             "",
		"202611300022080951":               "",
		"2026-13-30":                       "",
		"2026-02-30":                       "",
		"2026-1-30":                        "",
		"2026-11-30 00:22":                 "",
		"2026-11-30 25:00:00":              "",
		"2026-11-30 00:22:08,095":          "",
		"2026-11-30 00:22:08.95":           "",
		"2026-11-30 00:22:08.095 ":         "",
		"2026-11-30T00:22:08":              "",
		"Latest":                           "",
		"x":                                "",
		"9999-12-31T23:59:59Z":             "",
		"2026-11-30 0:22:08.9":             "",
		"२०२६-११-३०":                       "",
		"20261130002208095..2026113000220": "",
	} {
		got, err := ParseTime(text, zone)
		if got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, ErrTime) {
			t.Errorf("ParseTime(%q) = %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestParseTimeOfTimeline(t *testing.T) {
	tl, _ := table(t, 9, files{"001_002.commit": ""})
	for text, ok := range map[string]bool{"001": true, "002": true, "003": false, "2026-11-30": true, "": false} {
		if got, err := tl.ParseTime(text, time.UTC); (err == nil) != ok || ok && len(text) == 3 && got != text {
			t.Errorf("ParseTime(%q) = %q, %v", text, got, err)
		}
	}
}

func TestBoundsCompare(t *testing.T) {
	for _, instant := range []string{"00000000000000", "00000000000001", "001", "20261130002208095", "99999999999999999"} {
		if instant <= Earliest || instant >= Latest {
			t.Errorf("%s is not between %s and %s", instant, Earliest, Latest)
		}
	}
}

func TestTimeOf(t *testing.T) {
	zone := time.FixedZone("CET", 3600)
	for instant, want := range map[string]string{
		"20261130002208095":    "2026-11-30T00:22:08.095+01:00",
		"20261130002208":       "2026-11-30T00:22:08.999+01:00",
		"20261130002208095001": "2026-11-30T00:22:08.095+01:00",
		"001":                  "",
		"00000000000001":       "",
		"00000000000000000":    "",
		"2026113000220809":     "",
		"latest":               "",
		"":                     "",
	} {
		got, ok := TimeOf(instant, zone)
		if ok != (want != "") || ok && got.Format(time.RFC3339Nano) != want {
			t.Errorf("TimeOf(%q) = %v, %v, want %q", instant, got, ok, want)
		}
		if ok && len(instant) == milliDigits && FormatTime(got, zone) != instant {
			t.Errorf("FormatTime(%v) = %q, want %q", got, FormatTime(got, zone), instant)
		}
	}
}

func FuzzTime(f *testing.F) {
	for _, text := range []string{"20261130002208095", "2026-11-30 00:22:08.095", "2026-11-30T00:22:08.1-07:00", "000", "latest", "001"} {
		f.Add(text)
	}
	zone := time.FixedZone("x", -8*3600)
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = TimeOf(text, zone)
		instant, err := ParseTime(text, zone)
		switch {
		case err != nil:
			if !errors.Is(err, ErrTime) || instant != "" {
				t.Errorf("ParseTime(%q) = %q, %v", text, instant, err)
			}
		case instant == Earliest || instant == Latest:
		case !digits(instant) || len(instant) != secondDigits && len(instant) != milliDigits:
			t.Errorf("ParseTime(%q) = %q", text, instant)
		}
	})
}
