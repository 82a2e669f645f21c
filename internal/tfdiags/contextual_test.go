package tfdiags

import (
	"fmt"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

const bodySource = `name = "a"
tags = {
  owner = "me"
  (var.key) = 1
}
ports = [
  80,
  443,
]
rule {
  port = 1
}
rule {
  port = 2
  nested {
    x = 1
  }
}
peer "a" {
  ip = 1
}
peer "b" {
  ip = 2
}
`

func TestInConfigBody(t *testing.T) {
	file, diags := hclsyntax.ParseConfig([]byte(bodySource), "main.tf", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	root := func(name string) cty.Path { return cty.GetAttrPath(name) }
	for _, test := range []struct {
		path cty.Path
		want string // expected start, as line:column; 1:1 is the missing-item range of the file
	}{
		{root("name"), "1:8"},
		{root("name").GetAttr("x"), "1:8"},
		{root("tags"), "2:8"},
		{root("tags").IndexString("owner"), "3:11"},
		{root("tags").GetAttr("owner"), "3:11"},
		{root("tags").IndexString("other"), "2:8"},
		{root("ports").IndexInt(1), "8:3"},
		{root("ports").IndexInt(2), "6:9"},
		{root("ports").IndexString("x"), "6:9"},
		{root("rule"), "1:1"},
		{root("rule").IndexInt(0).GetAttr("port"), "11:10"},
		{root("rule").IndexInt(1).GetAttr("port"), "14:10"},
		{root("rule").IndexInt(1).GetAttr("nested").GetAttr("x"), "16:9"},
		{root("rule").IndexInt(1).GetAttr("missing"), "13:6"},
		{root("rule").IndexInt(7).GetAttr("port"), "10:6"},
		{root("rule").Index(cty.UnknownVal(cty.DynamicPseudoType)).GetAttr("port"), "10:6"},
		{root("peer").IndexString("b").GetAttr("ip"), "23:8"},
		{root("missing"), "1:1"},
		{nil, "1:1"},
	} {
		d := Errorf("Broken", "")
		d.Path = test.path
		got := d.List().InConfigBody(file.Body, "lab_object.a")[0]
		if at := fmt.Sprintf("%d:%d", got.Subject.Start.Line, got.Subject.Start.Column); at != test.want {
			t.Errorf("%s: got %s, want %s", FormatPath(test.path), at, test.want)
		}
		if got.Address != "lab_object.a" {
			t.Errorf("%s: address %q", FormatPath(test.path), got.Address)
		}
	}
}

// TestInConfigBodyKeeps checks that existing ranges and addresses are kept, and that the detail of
// placeless diagnostics contains the position.
func TestInConfigBodyKeeps(t *testing.T) {
	body := hcl.EmptyBody()
	own := Errorf("Broken", "It broke.").At(hcl.Range{Filename: "own.tf"})
	own.Address = "lab_object.own"
	placeless := Errorf("Broken", "It broke.")
	placeless.Placeless = true
	got := (Diagnostics{own, placeless}).InConfigBody(body, "lab_object.a")
	if got[0].Subject.Filename != "own.tf" || got[0].Address != "lab_object.own" {
		t.Errorf("changed %v", got[0])
	}
	if got[1].Subject != nil || got[1].Detail != "It broke. ("+Place(body.MissingItemRange())+")" {
		t.Errorf("placeless: %v", got[1])
	}
	if again := got[1].InText(body.MissingItemRange()); again.Detail != got[1].Detail {
		t.Errorf("the position is repeated: %q", again.Detail)
	}
	if got := own.List().InConfigBody(nil, ""); got[0].Subject.Filename != "own.tf" {
		t.Errorf("without a body: %v", got[0])
	}
}

func TestHCLRoundTrip(t *testing.T) {
	at, around := hcl.Range{Filename: "a.tf"}, hcl.Range{Filename: "a.tf", End: hcl.Pos{Line: 9}}
	in := hcl.Diagnostics{
		{Severity: hcl.DiagError, Summary: "Broken", Detail: "It broke.", Subject: &at, Context: &around,
			Extra: CausedByUnknown{}},
		{Severity: hcl.DiagWarning, Summary: "Careful", Expression: hcl.StaticExpr(cty.True, at),
			EvalContext: &hcl.EvalContext{}},
	}
	for i, out := range FromHCL(in).HCL() {
		if *out != *in[i] {
			t.Errorf("got %+v, want %+v", out, in[i])
		}
	}
	if _, ok := hcl.DiagnosticExtra[interface{ DiagnosticCausedByUnknown() bool }](in[0]); !ok {
		t.Error("HCL does not find CausedByUnknown")
	}
}

func TestErrText(t *testing.T) {
	list := Diagnostics{
		Warningf("Careful", "Not an error."), Errorf("First",
			"It broke.").At(hcl.Range{Filename: "a.tf", Start: hcl.Pos{Line: 3}}),
		Errorf("Second", ""),
	}
	if got, want := list.Err().Error(), "a.tf:3: First: It broke.; Second"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
