package bootstrap

import (
	"fmt"
	"path"
	"strings"

	"github.com/hudifs/hudifs/storage"
)

// Below is the path of a source file relative to the bootstrap base path. The base path may be spelled as a plain path or as
// any URI of the same place; a source of which only the name is known lies in its partition.
func (s Source) Below(basePath string) (string, error) {
	place := parse(s.URI)
	if !strings.Contains(s.URI, "/") {
		return storage.Join(s.Partition, s.URI)
	}
	base := parse(basePath)
	rel, ok := strings.CutPrefix(place.path, strings.TrimSuffix(base.path, "/")+"/")
	if !ok || !place.sameStore(base) {
		return "", fmt.Errorf("%w: the source %s does not lie below the bootstrap base path %s", ErrNoSource, s.URI, basePath)
	}
	return rel, storage.CheckPath(rel)
}

// LocalPath is the folder or file of this machine that a URI names; ok is false for any other.
func LocalPath(uri string) (dir string, ok bool) {
	l := parse(uri)
	return l.path, (l.scheme == "" || l.scheme == "file") && l.host == "" && path.IsAbs(l.path)
}

// location is a URI as Hadoop prints it: nothing in it is escaped.
type location struct{ scheme, host, path string }

func parse(uri string) location {
	var l location
	rest := uri
	if scheme, after, ok := strings.Cut(uri, ":"); ok && !strings.Contains(scheme, "/") {
		l.scheme, rest = strings.ToLower(scheme), after
	}
	if after, ok := strings.CutPrefix(rest, "//"); ok && l.scheme != "" {
		host, below, _ := strings.Cut(after, "/")
		l.host, rest = host, "/"+below
	}
	l.path = path.Clean(rest)
	// S3 has had several connectors over the years.
	if l.scheme == "s3a" || l.scheme == "s3n" {
		l.scheme = "s3"
	}
	return l
}

// sameStore tells whether two places can lie in one store: what one of them leaves out is the default of the cluster.
func (l location) sameStore(other location) bool {
	same := func(a, b string) bool { return a == "" || b == "" || a == b }
	return same(l.scheme, other.scheme) && same(l.host, other.host)
}
