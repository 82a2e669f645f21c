package fleet

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"

	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// reportFormat is the version of the JSON report format.
const reportFormat = "1.0"

// Report holds the results of a run.
type Report struct {
	FormatVersion string       `json:"format_version"`
	Summary       ui.Estate    `json:"summary"`
	Roots         []RootReport `json:"roots"`
}

// RootReport holds the result of one root module.
type RootReport struct {
	Name    string          `json:"name"`
	Status  ui.RootStatus   `json:"status"`
	Why     string          `json:"why,omitempty"` // why a root module is skipped or postponed
	Changes planview.Counts `json:"changes"`
	Seconds float64         `json:"seconds"`
	Errors  []ReportedError `json:"errors,omitempty"`
}

// ReportedError is an error of a root module. At is its position in the configuration, or "" if it
// has none.
type ReportedError struct {
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"`
	At      string `json:"at,omitempty"`
}

// NewReport returns the report of a run.
func NewReport(summary ui.Estate, results []*Result) *Report {
	out := &Report{FormatVersion: reportFormat, Summary: summary}
	for _, r := range results {
		of := RootReport{Name: r.Root.Name, Status: r.Status(), Why: r.Why, Changes: r.Counts(),
			Seconds: r.Elapsed.Round(time.Millisecond).Seconds(), Errors: reportedErrors(r.Err)}
		out.Roots = append(out.Roots, of)
	}
	return out
}

func reportedErrors(err error) []ReportedError {
	var out []ReportedError
	for _, d := range tfdiags.FromError(err) {
		reported := ReportedError{Summary: d.Summary, Detail: d.Detail}
		if d.Subject != nil {
			reported.At = tfdiags.Place(*d.Subject)
		}
		out = append(out, reported)
	}
	return out
}

// Forms maps file name extensions to the functions that write reports in these formats.
var Forms = map[string]func(*Report, io.Writer) error{
	".json": (*Report).JSON, ".xml": (*Report).JUnit, ".md": (*Report).Markdown,
}

// JSON writes the report as a JSON document.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// Elements of the JUnit format, which build servers can display.
type (
	junitSuite struct {
		XMLName  xml.Name    `xml:"testsuite"`
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"` // number of interrupted root modules
		Skipped  int         `xml:"skipped,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Seconds string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Error   *junitMessage `xml:"error,omitempty"`
		Skipped *junitMessage `xml:"skipped,omitempty"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report as a JUnit test suite, with a test case for each root module.
func (r *Report) JUnit(w io.Writer) error {
	s := junitSuite{Name: "tofu roots " + r.Summary.Operation, Tests: len(r.Roots), Failures: r.Summary.Failed,
		Errors: r.Summary.Interrupted, Skipped: r.Summary.Skipped + r.Summary.Postponed}
	for _, root := range r.Roots {
		c := junitCase{Name: root.Name, Class: s.Name, Seconds: fmt.Sprintf("%.3f", root.Seconds),
			Out: counts(root.Changes)}
		if root.Why != "" {
			c.Skipped = &junitMessage{Message: string(root.Status) + ": " + root.Why}
		}
		if len(root.Errors) > 0 {
			message := &junitMessage{Message: root.Errors[0].Summary, Text: root.errors()}
			if root.Status == ui.RootInterrupted {
				c.Error = message
			} else {
				c.Failure = message
			}
		}
		s.Cases = append(s.Cases, c)
	}
	_, err := io.WriteString(w, xml.Header)
	if err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(s); err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}

func (r *RootReport) errors() string {
	var b strings.Builder
	for _, e := range r.Errors {
		b.WriteString(e.Summary)
		if e.At != "" {
			b.WriteString(" (" + e.At + ")")
		}
		b.WriteString("\n")
		if e.Detail != "" {
			b.WriteString(e.Detail + "\n")
		}
	}
	return b.String()
}

func counts(c planview.Counts) string {
	return fmt.Sprintf("+%d ~%d -%d", c.Add, c.Change, c.Remove)
}

// Markdown writes the report for a comment on a pull request. It has a table of all root modules
// except the unchanged ones, followed by the errors.
func (r *Report) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s**\n", r.Summary.Text())
	r.table(&b)
	for _, root := range r.Roots {
		if len(root.Errors) > 0 {
			fmt.Fprintf(&b, "\n%s:\n\n```\n%s```\n", code(root.Name),
				strings.ReplaceAll(termtext.Printable(root.errors()), "```", "'''"))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// table writes a table of all root modules except the unchanged ones.
func (r *Report) table(b *strings.Builder) {
	var rows []planview.Root
	for _, root := range r.Roots {
		if root.Status == ui.RootUnchanged && root.Changes == (planview.Counts{}) {
			continue
		}
		row := planview.Root{Name: root.Name, Counts: root.Changes, Note: string(root.Status)}
		if root.Why != "" {
			row.Note += ": " + root.Why
		}
		rows = append(rows, row)
	}
	if len(rows) == 0 {
		return
	}
	columns, _ := planview.Columns(rows, "destroy", "replace", "change", "add")
	b.WriteString("\n| Root module | |")
	for _, c := range columns {
		b.WriteString(" " + c.Sign + " " + c.Title + " |")
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---:|", len(columns)) + "\n")
	for _, row := range rows {
		fmt.Fprintf(b, "| %s | %s |", code(row.Name), cell(row.Note))
		for _, c := range columns {
			fmt.Fprintf(b, " %d |", c.Of(row.Counts))
		}
		b.WriteString("\n")
	}
}

// code formats a name as code in a table cell.
func code(name string) string { return "`" + cell(strings.ReplaceAll(name, "`", "'")) + "`" }

func cell(text string) string {
	return termtext.OneLine(strings.NewReplacer("|", `\|`, "\n", " ").Replace(text))
}
