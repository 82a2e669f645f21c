package tfdiags

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"it broke": "It broke.", "It broke.": "It broke.", "échec": "échec.", "\"a\" is wrong": "\"a\" is wrong.",
		"": ".", "main.tf:1: it broke": "main.tf:1: it broke.", "./a/b is a directory": "./a/b is a directory.",
		"terraform_data.a: it broke": "terraform_data.a: it broke.", "broken: it": "Broken: it.",
	} {
		if got := Sentence(errors.New(text)); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestFormatPath(t *testing.T) {
	path := cty.GetAttrPath("rule").IndexInt(0).GetAttr("tags").IndexString("a b").Index(
		cty.UnknownVal(cty.String)).Index(cty.EmptyObjectVal)
	if got, want := FormatPath(path), `.rule[0].tags["a b"][...][...]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	err := cty.GetAttrPath("rule").NewErrorf("it is wrong")
	if got, want := FormatError(err), ".rule: it is wrong"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestErrorsCarryDiagnostics checks that a list of diagnostics is unchanged after it was converted
// to an error, wrapped, and converted back.
func TestErrorsCarryDiagnostics(t *testing.T) {
	in := Diagnostics{Warningf("Careful", "It may break."), Errorf("Broken", "It broke.")}
	out := FromError(fmt.Errorf("wrapped: %w", in.Err()))
	if len(out) != 2 || out[0].Summary != "Careful" || out[1].Severity != Error {
		t.Errorf("%v", out)
	}
	if err := in[:1].Err(); err != nil {
		t.Errorf("Err() = %v for warnings, want nil", err)
	}
	if plain := (Diagnostics{}).AppendError(errors.New("it broke")); len(plain) != 1 || plain[0].Summary != "It broke" {
		t.Errorf("%v", plain)
	}
}

func TestInterrupted(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{context.Canceled, "It was not finished."},
		{fmt.Errorf("reading the state: %w", context.Canceled), "This was not finished: reading the state."},
		{fmt.Errorf("%w while reading", context.Canceled), "It was not finished."},
	} {
		got := FromError(test.err)
		want := Diagnostic{Severity: Error, Summary: "Operation interrupted", Detail: test.want, Extra: Interrupted{}}
		if len(got) != 1 ||
			got[0].Error() != want.Error() || got[0].Extra != want.Extra {
			t.Errorf("%v became %v, want %v", test.err, got, want)
		}
	}
	if got := FromError(context.DeadlineExceeded); got[0].Extra != nil {
		t.Errorf("a timeout became %v", got)
	}
}

func TestJoin(t *testing.T) {
	one, list := Errorf("One", ""), Diagnostics{Errorf("Two", ""), Errorf("Three", "")}
	err := Join(nil, fmt.Errorf("in a file: %w", one), list.Err(), nil, errors.New("four"))
	var got []string
	for _, d := range FromError(err) {
		got = append(got, d.Summary)
	}
	if want := []string{"One", "Two", "Three", "Four"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := Join(nil, nil); err != nil {
		t.Errorf("Join(nil, nil) = %v, want nil", err)
	}
}

func TestReport(t *testing.T) {
	var warnings Diagnostics
	err := Diagnostics{Warningf("Careful", ""), Errorf("Broken", "")}.Report(warnings.Add)
	if len(warnings) != 1 || warnings[0].Summary != "Careful" {
		t.Errorf("warnings: %v", warnings)
	}
	if errs := FromError(err); len(errs) != 1 || errs[0].Summary != "Broken" {
		t.Errorf("errors: %v", errs)
	}
	if err := warnings.Report(func(...Diagnostic) {}); err != nil {
		t.Errorf("error %v for a list of warnings, want nil", err)
	}
}

func TestMapError(t *testing.T) {
	toWarnings := func(d Diagnostics) Diagnostics { return d.AsWarnings() }
	if err := MapError(Errorf("Broken", ""), toWarnings); err != nil {
		t.Errorf("got %v, want nil: no errors are left", err)
	}
	withAddress := func(d Diagnostics) Diagnostics { return d.WithAddress("a.b") }
	if out := FromError(MapError(errors.New("it broke"), withAddress)); len(out) != 1 || out[0].Address != "a.b" {
		t.Errorf("%v", out)
	}
	if err := MapError(nil, withAddress); err != nil {
		t.Errorf("got %v for a nil error", err)
	}
}

func TestSort(t *testing.T) {
	at := func(file string, offset int) hcl.Range {
		return hcl.Range{Filename: file, Start: hcl.Pos{Byte: offset}}
	}
	list := Diagnostics{
		Errorf("5", "").At(at("b.tf", 1)), Errorf("4", "").At(at("a.tf", 9)), Errorf("3", "").At(at("a.tf", 2)),
		Errorf("2", ""),
		Warningf("1", "").At(at("c.tf", 1)),
	}
	list.Sort()
	for i, d := range list {
		if d.Summary != fmt.Sprint(i+1) {
			t.Errorf("position %d has %s", i+1, d.Summary)
		}
	}
}

// TestDedup checks that a diagnostic is a duplicate only if another one has the same range, and the
// same address or no address.
func TestDedup(t *testing.T) {
	at := hcl.Range{Filename: "a.tf"}
	same, elsewhere, other := Errorf("Broken", "It broke.").At(at), Errorf("Broken", "It broke."), Errorf("Broken",
		"It broke.").At(at)
	other.Address = "lab_object.a"
	if left := (Diagnostics{same, elsewhere, other}).Dedup(same.List()); len(left) != 1 || left[0].Subject != nil {
		t.Errorf("duplicates of a diagnostic without address: %v left", left)
	}
	if left := (Diagnostics{same, elsewhere, other}).Dedup(other.List()); len(left) != 2 || left[0].Address != "" {
		t.Errorf("duplicates of a diagnostic with address: %v left", left)
	}
}

// TestListsAreCopied checks that no method except Add and Sort changes the original list.
func TestListsAreCopied(t *testing.T) {
	kept := Errorf("Broken", "It broke.").List()
	a, b := kept.WithAddress("lab_object.a"), kept.InConfigBody(hcl.EmptyBody(), "lab_object.b")
	if a[0].Address != "lab_object.a" || b[0].Address != "lab_object.b" || b[0].Subject == nil {
		t.Errorf("%v, %v", a, b)
	}
	warned, none := kept.AsWarnings(), kept.Filter(func(d Diagnostic) bool { return d.Severity != Error })
	if warned.HasErrors() || len(none) != 0 {
		t.Errorf("%v, %v", warned, none)
	}
	if kept[0].Address != "" || kept[0].Subject != nil || !kept.HasErrors() {
		t.Errorf("the list was changed: %v", kept)
	}
}
