package page

import (
	"bufio"
	"crypto/sha256"
	_ "embed" // for page.css, page.js and page.html
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"

	"tofu/internal/graphview"
	"tofu/internal/ui"
)

//go:embed page.css
var style string

//go:embed page.js
var script string

//go:embed page.html
var body string

// Content is the content of a page about one root module.
type Content struct {
	Title string // name of the plan; "" for a configuration
	Graph *graphview.Graph
	View  *ui.PlanView // nil for a configuration
	// Run holds the durations of the changes if the plan was applied. It is nil if they are
	// unknown.
	Run *graphview.Run
	// Unknown lists values that were unknown when the root module was planned.
	Unknown []string
	Program string // this program, with its version
}

// Write writes a page about one root module.
func Write(w io.Writer, c *Content) error {
	return write(w, &overview{Title: c.Title, Program: c.Program}, func(d *document) error {
		d.out.Modules = []moduleJSON{{Parent: -1}}
		d.out.Roots = []rootJSON{{Module: rootOfTree, Node: -1}}
		return d.add(0, c)
	})
}

// write writes a page. about holds the first entries of the overview, and fill adds the root
// modules.
func write(w io.Writer, about *overview, fill func(*document) error) error {
	out := bufio.NewWriterSize(w, 1<<16)
	title := about.Title
	if title == "" {
		title = "configuration"
	}
	fmt.Fprintf(out, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="%s">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>%s</title>
<style>%s</style>
</head>
%s`, policy(), html.EscapeString(title), style, body)
	d := newDocument(out, about)
	if err := fill(d); err != nil {
		return err
	}
	if err := d.end(); err != nil {
		return err
	}
	fmt.Fprintf(out, "<script>%s</script>\n</body>\n</html>\n", script)
	return out.Flush()
}

// policy returns the content-security policy. It contains hashes of the script and the style,
// which browsers compare with the elements.
func policy() string {
	return fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'; "+
		"require-trusted-types-for 'script'; trusted-types 'none'", hash(script), hash(style))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// element writes a value as JSON in a script element that browsers don't run. The JSON encoder
// escapes markup characters, so no text can end the element.
func element(w io.Writer, id string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("writing the page: %w", err)
	}
	fmt.Fprintf(w, "<script type=\"application/json\" id=%q>%s</script>\n", id, text)
	return nil
}
