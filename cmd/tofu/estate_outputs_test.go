package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestUsedOutputs checks, for random estates, what happens if an output differs from its planned
// value: only the root modules that use the output, and those that depend on these root modules,
// must not be applied.
func TestUsedOutputs(t *testing.T) {
	cases := uint64(12)
	if testing.Short() {
		cases = 3
	}
	for seed := range cases {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			e := &usingEstate{testEstate: &testEstate{T: t, rand: rand.New(rand.NewPCG(seed, 25))}, top: t.TempDir()}
			e.choose()
			e.write(nil, 0)
			e.tofu(e.top, 0, "roots", "apply", "-auto-approve")
			e.write(nil, 1)
			e.tofu(e.top, 0, "roots", "plan", "-out=all.plan")
			changed := e.roots[e.rand.IntN(e.sources)]
			output := usableOutputs[e.rand.IntN(len(usableOutputs))]
			e.write(&change{changed, output}, 1)
			e.tofu(filepath.Join(e.top, changed.name), 0, "apply", "-auto-approve")
			e.run(e.top, "roots", "apply", "-report=report.json", "all.plan")
			e.check(changed, output)
		})
	}
}

var usableOutputs = []string{"a", "b", "c"}

// usingEstate is a random estate. The first root modules have constant outputs and no objects. The
// other root modules use outputs of root modules before them. In version 1, each of these users
// gets an object.
type usingEstate struct {
	*testEstate
	top     string
	sources int // number of root modules without objects, which come first
	roots   []*usingRoot
}

type usingRoot struct {
	name string
	uses []use
}

// use is the use of an output by a root module. The names of its variable and local value contain
// the index of the use.
type use struct {
	from   *usingRoot
	output string
	form   int // index in useForms
}

// change identifies an output whose value has changed.
type change struct {
	root   *usingRoot
	output string
}

// useForms lists the ways in which an expression can use an output, with the additional
// declarations that they need.
var useForms = []struct{ extra, value string }{
	{"", "SOURCE.outputs.OUTPUT"},
	{"", `SOURCE.outputs["OUTPUT"]`},
	{"", "try(SOURCE.outputs.OUTPUT, null)"},
	{"", `join("", SOURCE[*].outputs.OUTPUT)`},
	{"locals {\n  lNUMBER = SOURCE.outputs\n}\n", "local.lNUMBER.OUTPUT"},
	{"variable \"vNUMBER\" {}\n", "var.vNUMBER"},
}

const variableForm = 5

func (e *usingEstate) choose() {
	e.sources = 1 + e.rand.IntN(2)
	names := e.rand.Perm(7)
	for i := range 4 + e.rand.IntN(3) {
		r := &usingRoot{name: fmt.Sprintf("r%d", names[i])}
		for _, other := range e.roots {
			for _, output := range usableOutputs {
				if i >= e.sources && e.rand.IntN(5) == 0 {
					r.uses = append(r.uses, use{other, output, e.rand.IntN(len(useForms))})
				}
			}
		}
		e.roots = append(e.roots, r)
	}
}

// write writes the configurations of a version. If changed is not nil, it also changes the value of
// that output.
func (e *usingEstate) write(changed *change, version int) {
	var file strings.Builder
	for i, r := range e.roots {
		var b strings.Builder
		var variables []string
		known := make(map[*usingRoot]bool)
		for n, u := range r.uses {
			if !known[u.from] {
				fmt.Fprintf(&b, "data \"terraform_remote_state\" %q {\n  backend = \"local\"\n  config = { path = "+
					"\"../%[1]s/terraform.tfstate\" }\n}\n", u.from.name)
			}
			known[u.from] = true
			form := useForms[u.form]
			fill := strings.NewReplacer("SOURCE", "data.terraform_remote_state."+u.from.name, "OUTPUT",
				u.output, "NUMBER",
				fmt.Sprint(n))
			b.WriteString(fill.Replace(form.extra))
			b.WriteString(fill.Replace("resource \"terraform_data\" \"uNUMBER\" {\n  input = " + form.value + "\n}\n"))
			if u.form == variableForm {
				variables = append(variables, fmt.Sprintf("v%d = root[%q].%s", n, u.from.name, u.output))
			}
		}
		if len(variables) > 0 {
			fmt.Fprintf(&file, "root %q {\n  variables = { %s }\n}\n", r.name, strings.Join(variables, ", "))
		}
		if i >= e.sources && version == 1 {
			b.WriteString("resource \"terraform_data\" \"one\" {}\n")
		}
		for _, output := range usableOutputs {
			value := r.name + output
			if changed != nil && changed.root == r && changed.output == output {
				value += " changed"
			}
			fmt.Fprintf(&b, "output %q {\n  value = %q\n}\n", output, value)
		}
		e.put(filepath.Join(e.top, r.name, "main.tf"), b.String())
	}
	e.put(filepath.Join(e.top, "roots.tofu.hcl"), file.String())
}

func (e *usingEstate) put(path, text string) {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		e.Fatal(err)
	}
}

// check checks the report of the apply: only root modules that use the changed output, or depend on
// such root modules, may have failed.
func (e *usingEstate) check(changed *usingRoot, output string) {
	text, err := os.ReadFile(filepath.Join(e.top, "report.json"))
	if err != nil {
		e.Fatal(err)
	}
	var report struct {
		Roots []struct {
			Name, Status string
			Errors       []struct{ Summary string }
		}
	}
	if err := json.Unmarshal(text, &report); err != nil {
		e.Fatal(err)
	}
	got := make(map[string]string)
	for _, r := range report.Roots {
		got[r.Name] = r.Status
		if r.Status == "failed" && r.Errors[0].Summary != "The plan contradicts what was applied before" {
			e.Errorf("%s failed: %v", r.Name, r.Errors)
		}
	}
	stopped := make(map[*usingRoot]bool)
	for i, r := range e.roots {
		want := "applied"
		switch {
		case i < e.sources:
			want = "unchanged"
		case slices.ContainsFunc(r.uses, func(u use) bool { return stopped[u.from] }):
			want = "skipped"
		case slices.ContainsFunc(r.uses, func(u use) bool { return u.from == changed && u.output == output }):
			want = "failed"
		}
		stopped[r] = want == "skipped" || want == "failed"
		if got[r.name] != want {
			e.Errorf("%s of %s changed: %s is %s, not %s; it uses %v",
				output, changed.name, r.name, got[r.name], want, r.uses)
		}
	}
}
