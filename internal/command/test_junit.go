package command

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"tofu/internal/atomicfile"
	"tofu/internal/moduletest"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// testReport collects the results of tests for a report in the JUnit format, with a suite for each file
// and a case for each run.
type testReport struct {
	path   string
	source func(name string) []byte // texts of files, for excerpts

	mu     sync.Mutex
	began  map[[2]string]time.Time
	took   map[[2]string]time.Duration
	suites map[string]*junitSuite
}

type (
	junitSuites struct {
		XMLName xml.Name      `xml:"testsuites"`
		Suites  []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Cases    []junitCase `xml:"testcase"`
		Err      *junitText  `xml:"system-err,omitempty"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		Class     string        `xml:"classname,attr"`
		Seconds   string        `xml:"time,attr,omitempty"`
		Timestamp string        `xml:"timestamp,attr,omitempty"`
		Failure   *junitMessage `xml:"failure,omitempty"`
		Error     *junitMessage `xml:"error,omitempty"`
		Skipped   *junitMessage `xml:"skipped,omitempty"`
		Err       *junitText    `xml:"system-err,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",cdata"`
	}
	junitText struct {
		Text string `xml:",cdata"`
	}
)

func newTestReport(path string, source func(string) []byte) *testReport {
	return &testReport{path: path, source: source, began: make(map[[2]string]time.Time),
		took: make(map[[2]string]time.Duration), suites: make(map[string]*junitSuite)}
}

// observe adds an event. A nil report ignores it.
func (r *testReport) observe(e moduletest.Event) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e := e.(type) {
	case moduletest.Begun:
		for path := range e.Runs {
			r.suites[path] = &junitSuite{Name: path}
		}
	case moduletest.Started:
		r.began[[2]string{e.Path, e.Run}] = time.Now()
	case moduletest.Finished:
		key := [2]string{e.Path, e.Run}
		r.took[key] = time.Since(r.began[key])
	case moduletest.RunDone:
		r.add(e)
	case moduletest.Cleaned:
		if text := r.text(e.Diagnostics); text != "" {
			suite := r.suites[e.Path]
			if suite.Err == nil {
				suite.Err = &junitText{}
			}
			suite.Err.Text += text
		}
	}
}

func (r *testReport) add(e moduletest.RunDone) {
	suite := r.suites[e.Path]
	suite.Tests++
	key := [2]string{e.Path, e.Run}
	c := junitCase{Name: e.Run, Class: e.Path}
	if began, ok := r.began[key]; ok {
		c.Seconds, c.Timestamp = fmt.Sprintf("%.6f", r.took[key].Seconds()), began.UTC().Format(time.RFC3339)
	}
	errs := e.Diagnostics.Filter(func(d tfdiags.Diagnostic) bool { return d.Severity == tfdiags.Error })
	message := &junitMessage{Text: r.text(errs)}
	if len(errs) > 0 {
		message.Message = cmp.Or(errs[0].Detail, errs[0].Summary)
	}
	if n := len(errs); n > 1 {
		message.Message = fmt.Sprintf("%d problems, the first one: %s", n, message.Message)
	}
	switch e.Status {
	case moduletest.Fail:
		suite.Failures++
		c.Failure = message
	case moduletest.Error:
		suite.Errors++
		c.Error = message
	case moduletest.Skip:
		suite.Skipped++
		c.Skipped = &junitMessage{Message: "An earlier run of the file had an error, or the tests were interrupted."}
	}
	warnings := e.Diagnostics.Filter(func(d tfdiags.Diagnostic) bool { return d.Severity == tfdiags.Warning })
	if text := r.text(warnings); text != "" {
		c.Err = &junitText{text}
	}
	suite.Cases = append(suite.Cases, c)
}

// text returns diagnostics as they are printed for people.
func (r *testReport) text(diags tfdiags.Diagnostics) string {
	var b bytes.Buffer
	ui.NewHuman(ui.Options{Out: &b, Err: &b, Sources: r.source}).Diagnostics(diags)
	return b.String()
}

// write writes the report. A nil report writes nothing.
func (r *testReport) write() error {
	if r == nil {
		return nil
	}
	out := junitSuites{}
	for _, path := range slices.Sorted(maps.Keys(r.suites)) {
		out.Suites = append(out.Suites, r.suites[path])
	}
	var b bytes.Buffer
	_, _ = io.WriteString(&b, xml.Header) // writes to a buffer don't fail
	e := xml.NewEncoder(&b)
	e.Indent("", "  ")
	if err := e.Encode(out); err != nil {
		return fmt.Errorf("-junit-xml: %w", err)
	}
	b.WriteByte('\n')
	if err := atomicfile.WriteNamed(r.path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("-junit-xml: %w", err)
	}
	return nil
}
