package command

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"tofu/internal/backend"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/termtext"
)

var cmdStateQuery = &Command{
	Name: "query", Own: true, Args: "SQL", Short: "Query the states in a database with SQL",
	Long: `
Runs a query on the database of the backend "postgres" and prints the result as
a table. The query can't change anything. It sees the states of all workspaces,
in these views:

  resources      resources, with provider and number of instances
  instances      objects of resource instances, with attributes and last change
  outputs        output values of root modules, with their last change
  dependencies   what each object depends on
  runs           runs that changed a workspace
  changes        objects and outputs that changed, with their earlier values

They have no sensitive values. docs/POSTGRES.md lists their columns. A query can
reach all that the user of the connection can read, so offer queries to others
only with a user that may query nothing but these views.`,
	New: with(func(f *stateQueryFlags, fs *options) {
		f.viewFlags.add(fs)
		f.varFlags.add(fs)
		fs.BoolVar(&f.Document, "json", false, "Print a JSON array with an object for each row.")
		fs.BoolVar(&f.CSV, "csv", false, "Print comma-separated values, after a line with the names of columns.")
	}, runStateQuery),
}

type stateQueryFlags struct {
	viewFlags
	varFlags
	Document, CSV bool
}

func runStateQuery(ctx context.Context, app *App, f *stateQueryFlags, args []string) error {
	if len(args) != 1 {
		return badUsage("Exactly one argument is required", "\"tofu state query\" expects one argument: a query, in quotes.")
	}
	if f.Document && f.CSV {
		return badUsage("Incompatible options", "-json and -csv can't be used together.")
	}
	at, err := app.LocateState(ctx, session.StateRequest{Vars: f.Variables, LazyKeys: true})
	if err != nil {
		return err
	}
	querier, ok := at.Store.(backend.Querier)
	if !ok {
		return tfdiags.Errorf("The backend has no queries", "The state is in the backend %q, and only the backend "+
			"\"postgres\" answers queries. To move the state there, configure that and run \"tofu init "+
			"-migrate-state\".", at.Settings.Driver.Name)
	}
	var printer rowPrinter = &tablePrinter{out: app.textOut()}
	switch {
	case f.Document:
		printer = &jsonRows{out: app.Out}
	case f.CSV:
		printer = &csvRows{out: csv.NewWriter(app.Out)}
	}
	err = querier.Query(ctx, args[0], printer.columns, printer.row)
	if err == nil {
		err = printer.end()
	}
	var wrong *backend.QueryError
	if errors.As(err, &wrong) {
		return queryFailed(args[0], wrong)
	}
	if err != nil {
		return tfdiags.Errorf("The query failed", "%s", tfdiags.Sentence(err))
	}
	return nil
}

// queryFailed returns the error for an invalid query. It shows the line of the query with the
// error.
func queryFailed(query string, e *backend.QueryError) error {
	text := tfdiags.Sentence(e)
	if before, rest, ok := cutAt(query, e.Position); ok {
		before = before[strings.LastIndexByte(before, '\n')+1:]
		rest, _, _ = strings.Cut(rest, "\n")
		text += fmt.Sprintf("\n\n  %s%s\n  %s^", before, rest, strings.Repeat(" ", utf8.RuneCountInString(before)))
	}
	if e.Hint != "" {
		text += "\n\n" + e.Hint
	}
	return tfdiags.Errorf("The query failed", "%s", text)
}

// cutAt splits text before the character at position, which is counted from 1. ok is false if text
// has no such position.
func cutAt(text string, position int) (before, rest string, ok bool) {
	for i := range text {
		position--
		if position == 0 {
			return text[:i], text[i:], true
		}
	}
	return text, "", position == 1 // true if position is just after the end
}

// A rowPrinter prints the result of a query.
type rowPrinter interface {
	columns([]backend.Column)
	row(values [][]byte) error
	end() error
}

// tablePrinter prints a table. It keeps all rows until the end, because a column is as wide as
// its widest value.
type tablePrinter struct {
	out  io.Writer
	rows [][]string
}

func (p *tablePrinter) columns(columns []backend.Column) {
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i] = termtext.OneLine(c.Name)
	}
	p.rows = [][]string{head}
}

func (p *tablePrinter) row(values [][]byte) error {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = termtext.OneLine(string(v))
	}
	p.rows = append(p.rows, cells)
	return nil
}

func (p *tablePrinter) end() error {
	if err := writeTable(p.out, p.rows); err != nil {
		return err
	}
	_, err := fmt.Fprintf(p.out, "(%s)\n", ui.Count(len(p.rows)-1, "row"))
	return err
}

// writeTable writes rows with aligned columns. The first row is the header.
func writeTable(out io.Writer, rows [][]string) error {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	line := make([]string, len(widths))
	for i, w := range widths {
		line[i] = strings.Repeat("-", w)
	}
	for n, row := range rows {
		lines := [][]string{row}
		if n == 0 {
			lines = append(lines, line)
		}
		for _, cells := range lines {
			var text strings.Builder
			for i, cell := range cells {
				text.WriteString(cell)
				text.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
			if _, err := fmt.Fprintln(out, strings.TrimRight(text.String(), " ")); err != nil {
				return err
			}
		}
	}
	return nil
}

// csvRows prints comma-separated values. NULL is an empty value.
type csvRows struct {
	out   *csv.Writer
	cells []string
}

func (p *csvRows) columns(columns []backend.Column) {
	for _, c := range columns {
		p.cells = append(p.cells, c.Name)
	}
	_ = p.out.Write(p.cells) // ignore the error here, because end returns it
}

func (p *csvRows) row(values [][]byte) error {
	for i, v := range values {
		p.cells[i] = string(v)
	}
	return p.out.Write(p.cells)
}

func (p *csvRows) end() error {
	p.out.Flush()
	return p.out.Error()
}

// jsonRows prints a JSON array of objects, whose members are in the order of the columns.
type jsonRows struct {
	out   io.Writer
	heads []backend.Column
	some  bool
}

func (p *jsonRows) columns(columns []backend.Column) { p.heads = columns }

func (p *jsonRows) row(values [][]byte) error {
	if !p.some {
		seen := map[string]bool{}
		for _, c := range p.heads {
			if seen[c.Name] {
				return &backend.QueryError{Message: fmt.Sprintf("two columns have the name %q", c.Name),
					Hint: "A JSON object needs different names: add AS and a name to one of the columns."}
			}
			seen[c.Name] = true
		}
	}
	text := []byte(",\n{")
	if !p.some {
		text[0] = '['
	}
	p.some = true
	for i, v := range values {
		if i > 0 {
			text = append(text, ',')
		}
		name, err := json.Marshal(p.heads[i].Name)
		if err != nil {
			return err
		}
		text = append(append(text, name...), ':')
		value := v
		switch {
		case v == nil:
			value = []byte("null")
		case !p.heads[i].JSON || !json.Valid(v):
			value, err = json.Marshal(string(v))
			if err != nil {
				return err
			}
		}
		text = append(text, value...)
	}
	_, err := p.out.Write(append(text, '}'))
	return err
}

func (p *jsonRows) end() error {
	text := "\n]\n"
	if !p.some {
		text = "[]\n"
	}
	_, err := io.WriteString(p.out, text)
	return err
}
