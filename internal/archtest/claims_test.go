package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// claims are the documents of which every claim names the tests that hold it:
// below the first section's heading each paragraph and each item of a list ends
// with [`package.Test`, ...], where the package is its folder.
var claims = []string{"docs/consistency.md"}

func TestClaims(t *testing.T) {
	root := filepath.Join("..", "..")
	tests := testsOf(t, root)
	for _, doc := range claims {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(doc)))
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range checkClaims(string(text), tests) {
			t.Errorf("%s: %s", doc, problem)
		}
	}
}

func TestCheckClaimsFindsBreaches(t *testing.T) {
	tests := map[string]bool{"views.TestA": true, "internal/x.TestB": true}
	const head = "# Title\n\nWhat it is.\n\n## Section\n\n"
	for _, c := range []struct {
		name, text string
		want       string // part of the one problem; none wanted where empty
	}{
		{"a paragraph", head + "It is so,\non two lines. [`views.TestA`]\n", ""},
		{"two tests", head + "- It is so. [`views.TestA`, `internal/x.TestB`]\n", ""},
		{"a list", head + "- It is so. [`views.TestA`]\n- And so,\n  too. [`internal/x.TestB`]\n", ""},
		{"no test", head + "It is so.\n", "line 7: names no test"},
		{"one item without", head + "- It is so. [`views.TestA`]\n- And so.\n- So too. [`views.TestA`]\n", "line 8: names no test"},
		{"not at its end", head + "It is so. [`views.TestA`] And so.\n", "line 7: names no test"},
		{"nobody's test", head + "It is so. [`views.TestB`]\n", "line 7: there is no views.TestB"},
		{"a helper", head + "It is so. [`views.TestA`, `views.help`]\n", "line 7: there is no views.help"},
		{"no claim", "# Title\n\nWhat it is.\n", "has no claim"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := checkClaims(c.text, tests)
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("got %q, want nothing", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0], c.want)):
				t.Errorf("got %q, want one problem with %q", got, c.want)
			}
		})
	}
}

var backed = regexp.MustCompile("\\[(`[^`]+`(?:, `[^`]+`)*)\\]$")

// checkClaims returns one line for each claim of a document that no test holds.
func checkClaims(text string, tests map[string]bool) []string {
	var problems []string
	total, at, claim := 0, 0, ""
	end := func() {
		if claim == "" {
			return
		}
		total++
		m := backed.FindStringSubmatch(claim)
		if m == nil {
			problems = append(problems, fmt.Sprintf("line %d: names no test", at))
		} else {
			for name := range strings.SplitSeq(m[1], ", ") {
				if name = strings.Trim(name, "`"); !tests[name] {
					problems = append(problems, fmt.Sprintf("line %d: there is no %s", at, name))
				}
			}
		}
		claim = ""
	}
	begun := false
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
			end()
			begun = begun || strings.HasPrefix(line, "## ")
		case line == "":
			end()
		case begun:
			if strings.HasPrefix(line, "- ") {
				end()
			}
			if claim == "" {
				at = i + 1
			}
			claim = strings.TrimSpace(claim + " " + line)
		}
	}
	end()
	if total == 0 {
		problems = append(problems, "has no claim")
	}
	return problems
}

// testsOf are the tests of every package of the module, as folder.Test.
func testsOf(t *testing.T, root string) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, f := range load(t, root) {
		if !f.test {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, filepath.FromSlash(f.file)), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range tree.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && isTest(fn) {
				out[path.Dir(f.file)+"."+fn.Name.Name] = true
			}
		}
	}
	if !out["internal/archtest.TestClaims"] {
		t.Fatal("it does not find itself: it looks in the wrong place")
	}
	return out
}

// isTest tells whether the go command runs a function as a test.
func isTest(fn *ast.FuncDecl) bool {
	params := fn.Type.Params.List
	if fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") || len(params) != 1 {
		return false
	}
	star, ok := params[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	of, ok := star.X.(*ast.SelectorExpr)
	return ok && of.Sel.Name == "T"
}
