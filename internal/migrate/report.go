package migrate

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/configs"
	"tofu/internal/tfdiags"
)

// Kind says what a finding means for a migration.
type Kind string

const (
	Works   Kind = "works"   // it works as it is
	Differs Kind = "differs" // it works, and behaves differently
	Change  Kind = "change"  // it has to be changed
)

// Finding is one thing that was looked at.
type Finding struct {
	Kind    Kind   `json:"kind"`
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"` // what differs, or what to do
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
}

// Place returns the file and line of a finding, or "".
func (f Finding) Place() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// Report is the result of a check.
type Report struct {
	Dir      string    `json:"directory"`
	Findings []Finding `json:"findings"`
}

// Must reports whether anything has to be changed.
func (r *Report) Must() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Kind == Change })
}

// Of returns the findings of a kind.
func (r *Report) Of(kind Kind) []Finding {
	var out []Finding
	for _, f := range r.Findings {
		if f.Kind == kind {
			out = append(out, f)
		}
	}
	return out
}

// Options say what to check.
type Options struct {
	Dir     string // the directory of the root module
	Parser  *configs.Parser
	Resolve configs.Resolver // finds installed modules
}

// checker collects findings.
type checker struct {
	*Options
	findings []Finding
	seen     map[string]bool // directories of modules
}

func (c *checker) add(kind Kind, at hcl.Range, summary, detail string, args ...any) {
	c.findings = append(c.findings, Finding{kind, summary, fmt.Sprintf(detail, args...), at.Filename, at.Start.Line})
}

// fromDiagnostic adds an error in the configuration, which has to be changed.
func (c *checker) fromDiagnostic(d tfdiags.Diagnostic) {
	f := Finding{Kind: Change, Summary: d.Summary, Detail: d.Detail}
	if d.Subject != nil {
		f.File, f.Line = d.Subject.Filename, d.Subject.Start.Line
	}
	if !slices.ContainsFunc(c.findings, func(g Finding) bool { // a table has better advice
		return g.Kind == Change && g.File == f.File && g.Line == f.Line
	}) {
		c.findings = append(c.findings, f)
	}
}

// Check looks at a root module and what is around it.
func Check(ctx context.Context, o *Options) (*Report, error) {
	if !o.Parser.IsModuleDir(o.Dir) {
		return nil, tfdiags.Errorf("No configuration files", "The directory %s has no configuration files (*.tf, *.tofu). "+
			"Name the directory of a root module.", o.Dir)
	}
	c := &checker{Options: o, seen: make(map[string]bool)}
	c.configuration(ctx)
	if err := c.states(); err != nil {
		return nil, err
	}
	c.lockFile()
	c.otherFiles()
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(slices.Index(order, a.Kind)-slices.Index(order, b.Kind), cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line))
	})
	return &Report{Dir: o.Dir, Findings: c.findings}, nil
}

// order is the order of kinds in a report: what has to be done comes first.
var order = []Kind{Change, Differs, Works}
