package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEstates checks, for random estates, that planning and applying all root modules at once leads
// to the same states as applying them one by one. This must also hold if provisioners fail, the
// process is killed, and runs are continued with -resume. The test also checks that no planned
// value differs from the value in the state after the apply.
//
// ESTATES=N sets the number of estates, and ESTATE_SEED=N sets the seed of the first one.
func TestEstates(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the provisioners need a shell")
	}
	cases := uint64(16)
	if testing.Short() {
		cases = 3
	}
	number := func(name string, other uint64) uint64 {
		text := os.Getenv(name)
		if text == "" {
			return other
		}
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return n
	}
	cases = number("ESTATES", cases)
	first := number("ESTATE_SEED", 0)
	for seed := first; seed < first+cases; seed++ {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			e := &testEstate{T: t, rand: rand.New(rand.NewPCG(seed, 24))}
			e.choose()
			whole, single := t.TempDir(), t.TempDir()
			for version := range 2 { // version 0 creates everything, and version 1 changes some of it
				e.write(whole, version)
				e.write(single, version)
				e.applyWhole(whole)
				for _, r := range e.roots {
					e.tofu(filepath.Join(single, r.name), 0, "apply", "-auto-approve", "-no-color")
				}
				e.same(whole, single)
			}
		})
	}
}

// testEstate is a random estate.
type testEstate struct {
	*testing.T
	rand  *rand.Rand
	roots []*testRoot // a root module comes after those whose states it reads
}

type testRoot struct {
	name   string
	reads  []testRead
	owned  [2]int  // number of objects without references, by version
	text   [2]bool // whether the known output has its changed value, by version
	expand bool    // whether it has a for_each over unknown values, which is deferred
	broken string  // what a provisioner does once in each version: "fail", "kill" or "" for nothing
}

type testRead struct {
	from   *testRoot
	output string // name of the output that is read; "" if no output is read
}

func (e *testEstate) choose() {
	n := 2 + e.rand.IntN(5)
	names := e.rand.Perm(n) // with random names, sorting by name differs from the order of dependencies
	for i := range n {
		r := &testRoot{name: fmt.Sprintf("r%d", names[i]), expand: e.rand.IntN(5) == 0}
		r.owned = [2]int{e.rand.IntN(3), e.rand.IntN(3)}
		r.text[1] = e.rand.IntN(2) == 0
		r.broken = []string{"", "", "fail", "kill"}[e.rand.IntN(4)]
		for _, other := range e.roots {
			if e.rand.IntN(2) == 0 {
				outputs := []string{"known", "id", "object", "list", "late", "mixed", ""}
				r.reads = append(r.reads, testRead{other, outputs[e.rand.IntN(len(outputs))]})
			}
		}
		e.roots = append(e.roots, r)
	}
}

// write writes the configurations of a version to directories below top.
func (e *testEstate) write(top string, version int) {
	for _, r := range e.roots {
		var b strings.Builder
		known := fmt.Sprintf("%q", fmt.Sprintf("%s version %t", r.name, r.text[version]))
		late := "[]"
		for _, read := range r.reads {
			label := read.from.name
			fmt.Fprintf(&b, "data \"terraform_remote_state\" %q {\n  backend = \"local\"\n  config = { path = "+
				"\"${path.module}/../%s/terraform.tfstate\" }\n}\n", label, label)
			if read.output == "" {
				continue
			}
			value := "data.terraform_remote_state." + label + ".outputs." + read.output
			fmt.Fprintf(&b, "resource \"terraform_data\" \"from_%s\" {\n  input = %s\n}\n", label, value)
			if r.expand && read.output == "id" {
				fmt.Fprintf(&b,
					"resource \"terraform_data\" \"each_%s\" {\n  for_each = toset([%s])\n  input = each.key\n}\n",
					label, value)
				late = "[for o in terraform_data.each_" + label + " : o.output]"
			}
			if read.output == "known" {
				known = value
			}
		}
		fmt.Fprintf(&b, "resource \"terraform_data\" \"owned\" {\n  count = %d\n  input = \"%s ${count.index}\"\n}\n",
			r.owned[version], r.name)
		fmt.Fprintf(&b, "resource \"terraform_data\" \"main\" {\n  input = %s\n  triggers_replace = %d\n  "+
			"provisioner \"local-exec\" {\n    command = \"if test -e kill; then rm kill; kill -9 $PPID; sleep 9; "+
			"fi; if test -e fail; then rm fail; exit 1; fi\"\n  }\n}\n", known, r.owned[version])
		fmt.Fprintf(&b, "output \"known\" {\n  value = %s\n}\noutput \"id\" {\n  value = terraform_data.main.id\n}\n",
			known)
		fmt.Fprintf(&b, "output \"object\" {\n  value = { text = %s, id = terraform_data.main.id }\n}\n", known)
		fmt.Fprint(&b, "output \"list\" {\n  value = [for o in terraform_data.owned : o.output]\n}\n")
		fmt.Fprintf(&b, "locals {\n  parts = { late = %s, id = terraform_data.main.id }\n}\n", late)
		fmt.Fprint(&b, "output \"late\" {\n  value = local.parts.late\n}\n")
		fmt.Fprint(&b, "output \"mixed\" {\n  value = \"${length(local.parts.late)} ${local.parts.id}\"\n}\n")
		dir := filepath.Join(top, r.name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			e.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(b.String()), 0o644); err != nil {
			e.Fatal(err)
		}
	}
}

// applyWhole plans and applies all root modules at once until nothing is left to do, while
// provisioners may fail or kill the process.
func (e *testEstate) applyWhole(top string) {
	for _, r := range e.roots {
		if r.broken != "" {
			if err := os.WriteFile(filepath.Join(top, r.name, r.broken), nil, 0o644); err != nil {
				e.Fatal(err)
			}
		}
	}
	for range 2*len(e.roots) + 2 {
		_ = os.Remove(filepath.Join(top, "all.plan.run"))
		out, status := e.run(top, "roots", "plan", "-no-color", "-detailed-exitcode", "-out=all.plan")
		switch status {
		case 0:
			// An unused data source may have read the state of a root module that had failed. The
			// plan then contains no changes, but an apply records what the data source reads now.
			e.tofu(top, 0, "roots", "apply", "-auto-approve")
			return
		case 1:
			e.Fatalf("roots plan: %s", out)
		}
		_, status = e.run(top, "roots", "apply", "-no-color", "all.plan")
		for range 2*len(e.roots) + 2 {
			if status == 0 {
				break
			}
			out, status = e.run(top, "roots", "apply", "-no-color", "-auto-approve", "-resume=all.plan")
		}
		if status != 0 {
			e.Fatalf("roots apply -resume never succeeds: %s", out)
		}
		e.planned(top)
	}
	e.Fatal("something is left after each apply")
}

// planned checks that the planned outputs and objects agree with the states after the plan was
// applied.
func (e *testEstate) planned(top string) {
	out, _ := e.run(top, "show", "-json", "all.plan")
	var doc struct {
		Roots []struct {
			Root struct {
				Name  string
				Waits []string
			}
			Plan struct {
				Planned struct {
					Outputs map[string]struct{ Value any }
				} `json:"planned_values"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out), &doc); err != nil {
		e.Fatalf("%v in %s", err, out)
	}
	for _, r := range doc.Roots {
		if len(r.Root.Waits) > 0 || r.Plan.Planned.Outputs == nil {
			continue
		}
		state := e.state(top, r.Root.Name)
		for name, o := range r.Plan.Planned.Outputs {
			actual := state.Outputs[name].Value
			if o.Value != nil && !consistent(o.Value, actual) {
				text, _ := os.ReadFile(filepath.Join(top, r.Root.Name, "main.tf"))
				e.Errorf("output %s of %s was planned as %v and is %v\n%s", name, r.Root.Name, o.Value, actual, text)
			}
		}
	}
}

// consistent reports whether a value agrees with its planned value. In the JSON form of a plan,
// unknown attributes are missing and unknown elements are null.
func consistent(planned, actual any) bool {
	switch planned := planned.(type) {
	case nil:
		return true
	case map[string]any:
		actual, ok := actual.(map[string]any)
		for name, v := range planned {
			ok = ok && consistent(v, actual[name])
		}
		return ok
	case []any:
		actual, ok := actual.([]any)
		ok = ok && len(actual) == len(planned)
		for i := range planned {
			ok = ok && consistent(planned[i], actual[i])
		}
		return ok
	}
	return planned == actual
}

// testState contains the parts of a state file that the tests compare.
type testState struct {
	Outputs   map[string]struct{ Value any }
	Resources []struct {
		Mode, Name string
		Instances  []struct {
			Key        any `json:"index_key"`
			Status     string
			Attributes map[string]any
		}
	}
}

func (e *testEstate) state(top, root string) *testState {
	out := &testState{}
	text, err := os.ReadFile(filepath.Join(top, root, "terraform.tfstate"))
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		e.Fatal(err)
	}
	return out
}

// same checks that the estates in the directories a and b have the same states. It replaces IDs,
// which are random, with addresses.
func (e *testEstate) same(a, b string) {
	first, second := e.normal(a), e.normal(b)
	for _, r := range e.roots {
		if first[r.name] != second[r.name] {
			text, _ := os.ReadFile(filepath.Join(a, r.name, "main.tf"))
			e.Errorf("%s applied with all others:\n%s\nand one by one:\n%s\n%s",
				r.name, first[r.name], second[r.name], text)
		}
	}
}

func (e *testEstate) normal(top string) map[string]string {
	out := make(map[string]string)
	var ids []string // pairs of old and new text for strings.NewReplacer
	for _, r := range e.roots {
		st := e.state(top, r.name)
		for _, resource := range st.Resources {
			for _, in := range resource.Instances {
				if id, ok := in.Attributes["id"].(string); ok && resource.Mode == "managed" {
					key := strings.NewReplacer(ids...).Replace(fmt.Sprint(in.Key))
					ids = append(ids, id, fmt.Sprintf("<%s.%s[%s]>", r.name, resource.Name, key))
				}
			}
		}
		text, err := json.MarshalIndent(st, "", " ")
		if err != nil {
			e.Fatal(err)
		}
		lines := strings.Split(strings.NewReplacer(ids...).Replace(string(text)), "\n")
		out[r.name] = strings.Join(lines, "\n")
	}
	return out
}

// tofu runs a command and fails the test unless the exit status is want.
func (e *testEstate) tofu(dir string, want int, args ...string) {
	if out, status := e.run(dir, args...); status != want {
		e.Fatalf("tofu %s in %s ended with %d: %s", strings.Join(args, " "), dir, status, out)
	}
}

// run runs a command. It returns the output and the exit status. The status is -1 if the command
// was killed.
func (e *testEstate) run(dir string, args ...string) (string, int) {
	cmd := exec.CommandContext(e.Context(), "tofu", args...)
	cmd.Dir = dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "TF_") }),
		"TF_CLI_CONFIG_FILE="+os.DevNull, "TF_IN_AUTOMATION=1")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		e.Fatal(err)
	}
	if strings.Contains(errs.String(), "panic") {
		e.Fatalf("tofu %s: %s", strings.Join(args, " "), errs.String())
	}
	if slices.Contains(args, "show") {
		return out.String(), cmd.ProcessState.ExitCode()
	}
	return out.String() + errs.String(), cmd.ProcessState.ExitCode()
}
