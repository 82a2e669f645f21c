package carve

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDivide divides random root modules along their references and checks the result: each block with objects
// is in exactly one part, every reference finds its block or an output of another part, and no two parts need
// one another.
func TestDivide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := randomModule(t)
		m, err := Parse("all", map[string][]byte{"main.tf": []byte(source)})
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		groups := m.Partition(Grouping{Parts: rapid.IntRange(2, 4).Draw(t, "parts"), Objects: func(string) int { return 1 }})
		places, parts := map[string]Place{}, map[string]*Part{"all": {Name: "all", Module: m}}
		for _, g := range groups[1:] {
			parts[g.Name] = &Part{Name: g.Name, Backend: map[string]string{}}
			for _, item := range g.Items {
				places[item] = Place{Part: g.Name, To: item}
			}
		}
		reads := map[[2]string]string{} // the part that a data source of a part reads
		for part, p := range parts {
			p.Reads = func(of string) (string, func(string) string, error) { // the names of all parts are similar
				return "part", func(name string) string {
					reads[[2]string{part, name}] = of
					return fmt.Sprintf("data \"terraform_remote_state\" %q {\n  backend = \"local\"\n}\n", name)
				}, nil
			}
		}
		d, err := m.Divide("all", places, parts)
		if err != nil {
			t.Fatalf("%v\n%s", err, source)
		}
		parsed := make(map[string]*Module)
		for name := range parts {
			files := map[string][]byte{}
			if name == "all" {
				maps.Copy(files, m.files)
			}
			maps.Copy(files, d.Files[name])
			if parsed[name], err = Parse(name, files); err != nil {
				t.Fatalf("%s: %v\n%s", name, err, files)
			}
		}
		var items []string
		for name, p := range parsed {
			items = append(items, p.Items()...)
			checkReferences(t, name, p, func(data string) *Module { return parsed[reads[[2]string{name, data}]] })
		}
		slices.Sort(items)
		want := slices.Sorted(slices.Values(m.Items()))
		if !slices.Equal(items, want) {
			t.Fatalf("the parts have %v, want %v\n%s", items, want, source)
		}
	})
}

// TestRequirements checks how the requirement of a moved resource's provider is added to a root module, whose blocks
// may be in one line.
func TestRequirements(t *testing.T) {
	const source = "terraform {\n  required_providers {\n    x = { source = \"a/x\" }\n  }\n}\nresource \"x_thing\" \"a\" {}\n"
	for before, want := range map[string]string{
		"terraform {\n  required_providers {\n    y = { source = \"a/y\" }\n  }\n}\n": "terraform {\n  required_providers {\n" +
			"    y = { source = \"a/y\" }\n    x = { source = \"a/x\" }\n  }\n}\n",
		"terraform {\n  required_providers {}\n}\n": "terraform {\n  required_providers {\n    x = { source = \"a/x\" }\n  }\n}\n",
	} {
		from, err := Parse("from", map[string][]byte{"main.tf": []byte(source)})
		if err != nil {
			t.Fatal(err)
		}
		to, err := Parse("to", map[string][]byte{"terraform.tf": []byte(before)})
		if err != nil {
			t.Fatal(err)
		}
		d, err := from.Divide("from", map[string]Place{"x_thing.a": {Part: "to", To: "x_thing.b"}},
			map[string]*Part{"from": {Name: "from", Module: from}, "to": {Name: "to", Module: to}})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.Files["to"]["terraform.tf"]); got != want {
			t.Errorf("after\n%s\n%s", before, got)
		}
	}
}

// checkReferences fails the test if a part refers to something that neither it nor the outputs of others have.
// read returns the part that a data source reads.
func checkReferences(t *rapid.T, name string, p *Module, read func(data string) *Module) {
	for file, text := range p.files {
		for word := range strings.FieldsFuncSeq(string(text), func(r rune) bool { return strings.ContainsRune(" \n[](){},*\"=:", r) }) {
			if rest, ok := strings.CutPrefix(word, "data.terraform_remote_state."); ok {
				data, output, _ := strings.Cut(rest, ".outputs.")
				if p.byKey["data.terraform_remote_state."+data] == nil || read(data).byKey["output."+output] == nil {
					t.Fatalf("%s/%s reads %s, which doesn't exist:\n%s", name, file, word, text)
				}
			}
			if file == MovesFile {
				continue
			}
			if key := strings.Split(word, "."); len(key) >= 2 && (key[0] == "x_thing" || key[0] == "local" || key[0] == "var") {
				if p.byKey[key[0]+"."+key[1]] == nil {
					t.Fatalf("%s/%s refers to %s, which is elsewhere:\n%s", name, file, word, text)
				}
			}
		}
	}
}

// randomModule returns a root module in which blocks refer to earlier ones.
func randomModule(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("variable \"v\" {}\n")
	n := rapid.IntRange(2, 12).Draw(t, "resources")
	repeat := make([]int, n)
	ref := func(i int) string {
		if i == 0 || rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
			return rapid.SampledFrom([]string{"var.v", "1", "local.none"}).Draw(t, "shared")
		}
		to := rapid.IntRange(0, i-1).Draw(t, "to")
		forms := [][]string{
			{"x_thing.r%d.id", "x_thing.r%d[*].id", "x_thing.r%d"},
			{"x_thing.r%d[0].id", "x_thing.r%d[*].id", "x_thing.r%d[var.v].name", "length(x_thing.r%d)"},
			{"x_thing.r%d[\"k\"].id", "x_thing.r%d[var.v].id", "x_thing.r%d", "local.l%d"},
		}[repeat[to]]
		return fmt.Sprintf(rapid.SampledFrom(forms).Draw(t, "form"), to)
	}
	b.WriteString("locals {\n  none = var.v\n}\n")
	for i := range n {
		repeat[i] = rapid.IntRange(0, 2).Draw(t, "repeat")
		fmt.Fprintf(&b, "# Resource %d.\nresource \"x_thing\" \"r%d\" {\n", i, i)
		b.WriteString([]string{"", "  count = 2\n", "  for_each = toset([\"k\"])\n"}[repeat[i]])
		for a := range rapid.IntRange(0, 3).Draw(t, "arguments") {
			fmt.Fprintf(&b, "  a%d = [%s, \"x-${%s}\"]\n", a, ref(i), ref(i))
		}
		fmt.Fprintf(&b, "}\nlocals {\n  l%d = x_thing.r%d\n}\n", i, i)
	}
	fmt.Fprintf(&b, "output \"last\" {\n  value = %s\n}\n", ref(n-1))
	return b.String()
}

// TestReads checks the names of data sources that read several parts, of which one is taken.
func TestReads(t *testing.T) {
	m, err := Parse("all", map[string][]byte{"main.tf": []byte(`
resource "x_a" "one" {}
resource "x_b" "one" {}
resource "x_c" "own" { v = [x_a.one.id, x_b.one.id, data.terraform_remote_state.part.outputs.v] }
data "terraform_remote_state" "part" { backend = "local" }
`)})
	if err != nil {
		t.Fatal(err)
	}
	reads := func(string) (string, func(string) string, error) {
		return "part", func(name string) string { return fmt.Sprintf("data \"terraform_remote_state\" %q {}\n", name) }, nil
	}
	parts := map[string]*Part{"all": {Name: "all", Module: m, Reads: reads},
		"a": {Name: "a", Backend: map[string]string{}}, "b": {Name: "b", Backend: map[string]string{}}}
	d, err := m.Divide("all", map[string]Place{"x_a.one": {"a", "x_a.one"}, "x_b.one": {"b", "x_b.one"}}, parts)
	if err != nil {
		t.Fatal(err)
	}
	want := "[data.terraform_remote_state.part_2.outputs.a_one_id, data.terraform_remote_state.part_3.outputs.b_one_id, " +
		"data.terraform_remote_state.part.outputs.v]"
	if got := string(d.Files["all"]["main.tf"]); !strings.Contains(got, want) {
		t.Errorf("%s\ndoesn't have %s", got, want)
	}
}

// TestPartition checks partitions whose best form is known.
func TestPartition(t *testing.T) {
	m, err := Parse("", map[string][]byte{"main.tf": []byte(`
resource "x_a" "one" {}
resource "x_a" "two" { v = x_a.one.id }
resource "x_b" "one" {}
resource "x_b" "two" { v = [x_b.one.id, x_b.one.name] }
resource "x_c" "both" {
  v = [x_a.two.id, x_b.two.id]
  lifecycle { replace_triggered_by = [x_b.two] }
}
resource "x_d" "own" {}
import {
  to = x_d.own
  id = "x"
}
output "all" { value = x_c.both.id }
`)})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name string
		by   Grouping
		want string
	}{
		{"along the references", Grouping{Parts: 3}, "=x_d.own a=x_a.one,x_a.two b=x_b.one,x_b.two,x_c.both"},
		{"by type", Grouping{By: ItemName}, "=x_d.own a=x_a.one,x_a.two b=x_b.one,x_b.two,x_c.both"},
		{"by a tag of which nothing has a value", Grouping{By: func(string) string { return "" }},
			"=x_a.one,x_a.two,x_b.one,x_b.two,x_c.both,x_d.own"},
		{"groups that need each other are one", Grouping{By: func(item string) string {
			return map[string]string{"x_a.one": "p", "x_a.two": "q", "x_b.one": "q", "x_b.two": "p", "x_c.both": "p"}[item]
		}}, "=x_d.own p=x_a.one,x_a.two,x_b.one,x_b.two,x_c.both"},
	} {
		test.by.Objects = func(string) int { return 1 }
		var got []string
		for _, g := range m.Partition(test.by) {
			slices.Sort(g.Items)
			got = append(got, g.Name+"="+strings.Join(g.Items, ","))
		}
		if text := strings.Join(got, " "); text != test.want {
			t.Errorf("%s: %s, want %s", test.name, text, test.want)
		}
	}
}
