package archtest

import (
	"bufio"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// policy says which packages of this module each package may import, beside
// itself: one line a package. It is a decision, drawn and explained in
// ARCHITECTURE.md. A build that breaks it is repaired in the code, not here.
const policy = `
	storage:             -
	storage/filestore:   storage
	storage/storagetest: storage
	cache:               internal/contain
	merge:               -
	internal/column:     -
	internal/lazy:       -
	internal/avro:       -
	internal/contain:    -
	internal/hfile:      -
	internal/spill:      -
	internal/schema:     internal/column
	internal/pqfile:     internal/schema internal/column
	internal/logfile:    internal/hfile internal/pqfile internal/schema internal/column
	internal/timeline:   storage internal/avro internal/logfile internal/pqfile internal/column internal/lazy
	internal/fsview:     storage internal/logfile internal/contain
	internal/bootstrap:  storage internal/avro internal/hfile
	internal/render:     storage merge internal/contain internal/logfile internal/pqfile internal/schema internal/column internal/spill
	internal/changes:    internal/timeline internal/fsview internal/render internal/logfile internal/pqfile internal/schema internal/column
	internal/rowdiff:    internal/pqfile internal/schema internal/column internal/spill
	internal/mdt:        storage internal/contain internal/avro internal/hfile internal/logfile internal/timeline internal/fsview internal/render internal/lazy
	hudi:                storage merge internal/contain internal/mdt internal/bootstrap internal/changes internal/rowdiff internal/render internal/fsview internal/timeline internal/schema internal/logfile internal/pqfile internal/lazy
	views:               storage cache hudi internal/contain internal/lazy
	fusefs:              storage views internal/contain
	cmd/hudifs:          storage storage/filestore cache hudi views fusefs internal/contain
	e2e:                 -
	internal/hostiletest: -
	internal/tabletest:  -
	internal/archtest:   -
`

// inTests lists what the tests of every package but the black boxes may import
// as well.
var inTests = []string{"storage", "storage/filestore", "storage/storagetest", "internal/hostiletest", "internal/tabletest"}

// blackBoxes are the packages whose tests too may import nothing of ours.
var blackBoxes = []string{"e2e", "internal/archtest"}

// outside says which packages alone may import a module of others.
var outside = []struct {
	module string
	users  []string
	why    string
}{
	{"github.com/hanwen/go-fuse", []string{"fusefs", "cmd/hudifs", "e2e"}, "nothing else may know that the kernel exists"},
}

// An importer is one file of the module with what it imports.
type importer struct {
	file    string // from the module root, with slashes
	pkg     string
	test    bool
	imports []string
}

func TestImports(t *testing.T) {
	root := filepath.Join("..", "..")
	module := modulePath(t, root)
	allowed := parsePolicy(t, policy)
	files := load(t, root)
	if len(files) == 0 {
		t.Fatal("no Go files found: the test looks in the wrong place")
	}
	for _, problem := range check(module, allowed, files) {
		t.Error(problem)
	}
	have := map[string]bool{}
	for _, f := range files {
		have[f.pkg] = true
	}
	for pkg := range allowed {
		if !have[pkg] {
			t.Errorf("%s: listed in the policy, but there is no such package", pkg)
		}
	}
}

func TestCheckFindsBreaches(t *testing.T) {
	allowed := parsePolicy(t, "low: -\nmid: low\nfusefs: mid\ne2e: -")
	const m = "example.org/m/"
	for _, c := range []struct {
		name string
		file importer
		want string // part of the one problem; none wanted where empty
	}{
		{"allowed", importer{pkg: "mid", imports: []string{"fmt", m + "low", "github.com/x/y"}}, ""},
		{"upwards", importer{pkg: "low", imports: []string{m + "mid"}}, "may not import mid"},
		{"unlisted importer", importer{pkg: "new", imports: []string{"fmt"}}, "not in the policy"},
		{"unlisted import", importer{pkg: "mid", imports: []string{m + "new"}}, "may not import new"},
		{"store in a test", importer{pkg: "low", test: true, imports: []string{m + "storage/filestore"}}, ""},
		{"store in the code", importer{pkg: "low", imports: []string{m + "storage/filestore"}}, "may not import storage/filestore"},
		{"own package in a test", importer{pkg: "low", test: true, imports: []string{m + "low"}}, ""},
		{"upwards in a test", importer{pkg: "low", test: true, imports: []string{m + "mid"}}, "may not import mid"},
		{"black box", importer{pkg: "e2e", test: true, imports: []string{m + "storage/filestore"}}, "may not import storage/filestore"},
		{"fuse at home", importer{pkg: "fusefs", imports: []string{"github.com/hanwen/go-fuse/v2/fs"}}, ""},
		{"fuse elsewhere", importer{pkg: "low", imports: []string{"github.com/hanwen/go-fuse/v2/fs"}}, "the kernel exists"},
		{"a name that only begins like it", importer{pkg: "low", imports: []string{"github.com/hanwen/go-fuse-other"}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.file.file = "x.go"
			got := check("example.org/m", allowed, []importer{c.file})
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("got %q, want nothing", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("got %q, want one problem with %q", got, c.want)
			}
		})
	}
}

// check returns one line for each breach of the policy.
func check(module string, allowed map[string][]string, files []importer) []string {
	var problems []string
	for _, f := range files {
		may, listed := allowed[f.pkg]
		if !listed {
			problems = append(problems, fmt.Sprintf("%s: package %s is not in the policy: add its line, and its row in ARCHITECTURE.md", f.file, f.pkg))
			continue
		}
		for _, imp := range f.imports {
			if ours, ok := strings.CutPrefix(imp, module+"/"); ok {
				if ours != f.pkg && !slices.Contains(may, ours) && !allowedInTest(f, ours) {
					problems = append(problems, fmt.Sprintf("%s: %s may not import %s", f.file, f.pkg, ours))
				}
				continue
			}
			for _, o := range outside {
				if (imp == o.module || strings.HasPrefix(imp, o.module+"/")) && !slices.Contains(o.users, f.pkg) {
					problems = append(problems, fmt.Sprintf("%s: %s may not import %s: %s", f.file, f.pkg, imp, o.why))
				}
			}
		}
	}
	return problems
}

func allowedInTest(f importer, imp string) bool {
	return f.test && slices.Contains(inTests, imp) && !slices.Contains(blackBoxes, f.pkg)
}

func parsePolicy(t *testing.T, text string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		pkg, list, ok := strings.Cut(line, ":")
		if _, twice := out[pkg]; !ok || twice {
			t.Fatalf("policy line %q: want \"package: imports\", each package once", line)
		}
		out[pkg] = nil
		if list = strings.TrimSpace(list); list != "-" {
			out[pkg] = strings.Fields(list)
		}
	}
	return out
}

// load reads the imports of every Go file of the module. It goes through the
// os package, not through the go command, so that the test cache sees which
// files the result depends on.
func load(t *testing.T, root string) []importer {
	t.Helper()
	var files []importer
	err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(root, p, d.Name())
		}
		if !strings.HasSuffix(p, ".go") {
			return nil
		}
		f, err := readFile(root, p)
		if err != nil {
			return err
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// skipDir leaves out what the go command leaves out: hidden folders, testdata
// and other modules.
func skipDir(root, p, name string) error {
	if p == root {
		return nil
	}
	if name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	switch _, err := os.Stat(filepath.Join(p, "go.mod")); {
	case err == nil:
		return fs.SkipDir
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

func readFile(root, p string) (importer, error) {
	rel, err := filepath.Rel(root, p)
	if err != nil {
		return importer{}, err
	}
	rel = filepath.ToSlash(rel)
	tree, err := parser.ParseFile(token.NewFileSet(), p, nil, parser.ImportsOnly)
	if err != nil {
		return importer{}, err
	}
	f := importer{file: rel, pkg: path.Dir(rel), test: strings.HasSuffix(rel, "_test.go")}
	for _, spec := range tree.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return importer{}, fmt.Errorf("%s: import %s: %w", rel, spec.Path.Value, err)
		}
		f.imports = append(f.imports, imp)
	}
	return f, nil
}

func modulePath(t *testing.T, root string) string {
	t.Helper()
	f, err := os.Open(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		if name, ok := strings.CutPrefix(s.Text(), "module "); ok {
			return strings.TrimSpace(name)
		}
	}
	t.Fatal("go.mod names no module")
	return ""
}
