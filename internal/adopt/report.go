package adopt

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/ui"
	"tofu/internal/ui/termtext"
)

// Status says what happens to an object.
type Status string

const (
	New       Status = "import"    // an apply imports it, and changes nothing
	Differs   Status = "change"    // an apply imports it, and would also change it
	IsManaged Status = "managed"   // a state has it
	Failed    Status = "no-import" // it can't be imported
	InDoubt   Status = "in-doubt"  // it isn't known which object, if any, a creation has made
)

// Report is the result of adopting objects. Its JSON form is the document of `tofu adopt -json`.
type Report struct {
	Rows   []Row
	Files  []string // the files that were written, sorted
	Import int      // number of objects that an apply imports
	Change int      // number of these that it would also change
	Others int      // number of other objects that it would change
}

// Row is one object of a report.
type Row struct {
	Object  *Object
	Status  Status
	Why     string   // for Failed and InDoubt the reason, for IsManaged the places that have it
	Changes []string // names of arguments that an apply would change
}

// Add adds an object.
func (r *Report) Add(o *Object, status Status, why string, changes []string) {
	r.Rows = append(r.Rows, Row{o, status, why, changes})
}

// Clean reports whether an apply would import all objects that no state has, and change none of them.
func (r *Report) Clean() bool {
	return !slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Status != New && row.Status != IsManaged })
}

// sort sorts the rows by status and address, or by the object's own name.
func (r *Report) sort() {
	order := []Status{IsManaged, InDoubt, Failed, Differs, New}
	slices.SortStableFunc(r.Rows, func(x, y Row) int {
		if x.Status != y.Status {
			return slices.Index(order, x.Status) - slices.Index(order, y.Status)
		}
		if x.Status == IsManaged || x.Status == Failed {
			return strings.Compare(x.Object.String(), y.Object.String())
		}
		return x.Object.Addr.Compare(y.Object.Addr)
	})
}

// Text writes the report for people. With all, it lists every object, otherwise only those that need
// attention.
func (r *Report) Text(w io.Writer, all bool) error {
	r.sort()
	var b strings.Builder
	count := map[Status]int{}
	for _, row := range r.Rows {
		count[row.Status]++
		o := row.Object
		switch {
		case row.Status == Failed:
			fmt.Fprintf(&b, "  %s can't be imported: %s\n", o, termtext.OneLine(row.Why))
		case row.Status == InDoubt:
			fmt.Fprintf(&b, "  %s stays in doubt: %s\n", o.Addr, termtext.OneLine(row.Why))
		case row.Status == Differs:
			fmt.Fprintf(&b, "  %s would change: %s\n", o.Addr, strings.Join(row.Changes, ", "))
		case all && row.Status == IsManaged:
			fmt.Fprintf(&b, "  %s is managed as %s\n", o, row.Why)
		case all:
			fmt.Fprintf(&b, "  %s is new: %s\n", o, o.Addr)
		}
	}
	if b.Len() > 0 {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "Found %s", ui.Count(len(r.Rows), "object"))
	if len(r.Rows) > 0 {
		fmt.Fprintf(&b, ": %d managed already, %d new", count[IsManaged], count[New]+count[Differs])
	}
	if count[InDoubt] > 0 {
		fmt.Fprintf(&b, ", %d in doubt", count[InDoubt])
	}
	if count[Failed] > 0 {
		fmt.Fprintf(&b, ", %d that can't be imported", count[Failed])
	}
	b.WriteString(".\n")
	if len(r.Files) > 0 {
		fmt.Fprintf(&b, "Wrote %s.\n", strings.Join(r.Files, ", "))
		fmt.Fprintf(&b, "Plan: %d to import, %d to change.\n", r.Import, r.Change)
		if r.Others > 0 {
			fmt.Fprintf(&b, "An apply would also change %s that the configuration had before.\n", ui.Count(r.Others, "object"))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// JSON writes the report as a JSON document.
func (r *Report) JSON(w io.Writer) error {
	r.sort()
	type object struct {
		Type        string          `json:"type"`
		DisplayName string          `json:"display_name,omitempty"`
		ID          string          `json:"id,omitempty"`
		Identity    json.RawMessage `json:"identity,omitempty"`
		Provider    string          `json:"provider"`
		Status      Status          `json:"status"`
		Address     string          `json:"address,omitempty"`
		Why         string          `json:"why,omitempty"`
		Changes     []string        `json:"changes,omitempty"`
	}
	doc := struct {
		FormatVersion string   `json:"format_version"`
		Objects       []object `json:"objects"`
		Files         []string `json:"files"`
		Import        int      `json:"import"`
		Change        int      `json:"change"`
		Others        int      `json:"other_changes"`
	}{"1.0", []object{}, append([]string{}, r.Files...), r.Import, r.Change, r.Others}
	for _, row := range r.Rows {
		o := row.Object
		out := object{Type: o.Type, DisplayName: o.Name, ID: o.ID, Provider: o.Source.String(), Status: row.Status,
			Why: row.Why, Changes: row.Changes}
		if row.Status == New || row.Status == Differs || row.Status == InDoubt {
			out.Address = o.Addr.String()
		}
		if o.Identity != cty.NilVal {
			text, err := ctyjson.Marshal(o.Identity, o.Identity.Type())
			if err != nil {
				return fmt.Errorf("encoding the identity of %s: %w", o, err)
			}
			out.Identity = text
		}
		doc.Objects = append(doc.Objects, out)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}
