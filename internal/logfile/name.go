package logfile

import (
	"cmp"
	"strconv"
	"strings"
)

// Name is what the name of a log file says:
//
//	.<file id>_<instant>.<log|archive>.<version>[_<write token>][.cdc]
type Name struct {
	FileID string
	// Instant is the base instant of the file slice on tables of version 7 and below, above them that of the commit which wrote the file.
	// The archive of a timeline has none.
	Instant    string
	Ext        string // log, or archive
	Version    int
	WriteToken string // "" in very old files
	// CDC marks a file of change data, which is never merged.
	CDC bool
}

// ParseName takes the name of a log file apart, ok false for names of other files.
func ParseName(name string) (n Name, ok bool) {
	rest, ok := strings.CutPrefix(name, ".")
	if !ok {
		return n, false
	}
	if n.FileID, rest, ok = strings.Cut(rest, "_"); !ok || n.FileID == "" || strings.Contains(n.FileID, ".") {
		return n, false
	}
	if n.Instant, rest, ok = strings.Cut(rest, "."); !ok || strings.Contains(n.Instant, "_") {
		return n, false
	}
	n.Ext, rest, ok = strings.Cut(rest, ".")
	if !ok || n.Ext != "archive" && (n.Ext != "log" || n.Instant == "") {
		return n, false
	}
	rest, n.CDC = strings.CutSuffix(rest, ".cdc")
	version, token, hasToken := strings.Cut(rest, "_")
	v, err := strconv.ParseUint(version, 10, 31)
	if err != nil || hasToken && !isToken(token) {
		return n, false
	}
	n.Version, n.WriteToken = int(v), token
	return n, true
}

// isToken recognises <task partition>-<stage>-<attempt>.
func isToken(s string) bool {
	parts := strings.Split(s, "-")
	if len(parts) != 3 {
		return false
	}
	for _, p := range parts {
		if p == "" || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return true
}

// Compare orders the log files of a slice as they are read (hudi-common: HoodieLogFile.LogFileComparator): versions
// compare as numbers, all the rest as text, so that write token 0-10-1 comes before 0-9-1.
func Compare(a, b Name) int {
	return cmp.Or(
		strings.Compare(a.Instant, b.Instant),
		cmp.Compare(a.Version, b.Version),
		strings.Compare(a.WriteToken, b.WriteToken),
		boolCompare(a.CDC, b.CDC),
	)
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
