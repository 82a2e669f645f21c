package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// estateObjects is the number of objects in each root module of an estate.
const estateObjects = 20

// estates lists the shapes of estates. A shape determines which other root modules each root module
// reads.
var estates = []struct {
	name, about string
	reads       func(n int) map[string][]string
}{
	{"grid", "regions of a network, a cluster and eight services, and one root module that reads all clusters",
		gridEstate},
	{"chain", "each root module reads the one before", chainEstate},
}

func gridEstate(n int) map[string][]string {
	out := make(map[string][]string)
	var clusters []string
	for region := 0; len(out) < n-1; region++ {
		base := fmt.Sprintf("region%03d/", region)
		network, cluster := base+"network", base+"cluster"
		add := func(name string, reads ...string) bool {
			if len(out) == n-1 {
				return false
			}
			out[name] = reads
			return true
		}
		add(network)
		if add(cluster, network) {
			clusters = append(clusters, cluster)
		}
		for i := range 8 {
			add(fmt.Sprintf("%sservice%d", base, i), cluster, network)
		}
	}
	out["dns"] = clusters
	return out
}

func chainEstate(n int) map[string][]string {
	out := map[string][]string{"r0000": nil}
	for i := 1; i < n; i++ {
		out[fmt.Sprintf("r%04d", i)] = []string{fmt.Sprintf("r%04d", i-1)}
	}
	return out
}

// estatePhases lists the measured commands, in order.
var estatePhases = []struct {
	name   string
	change bool // whether a root module is changed before the command
	args   []string
}{
	{"fresh plan", false, []string{"roots", "plan"}},
	{"apply", false, []string{"roots", "apply", "-auto-approve"}},
	{"no-op plan", false, []string{"roots", "plan"}},
	{"plan after one change", true, []string{"roots", "plan"}},
	{"destroy", false, []string{"roots", "destroy", "-auto-approve"}},
}

// measureEstates measures commands on many root modules. For each shape, it prints a table of times
// and a table of memory.
func measureEstates(o *options, out io.Writer) error {
	for _, shape := range estates {
		var t, memory table
		t.row("seconds (CPU seconds)")
		memory.row("peak of memory in MiB")
		for _, p := range estatePhases {
			t.row(p.name)
			memory.row(p.name)
		}
		results := make([][]cost, len(o.sizes))
		for i, n := range o.sizes {
			var err error
			results[i], err = o.measureEstate(shape.reads(n))
			if err != nil {
				return fmt.Errorf("%s, %d root modules: %w", shape.name, n, err)
			}
			t.add(0, "", fmt.Sprintf("%d", n))
			memory.add(0, "", fmt.Sprintf("%d", n))
			for row, c := range results[i] {
				t.add(row+1, "", fmt.Sprintf("%.2f (%.2f)", c.wall.Seconds(), c.cpu.Seconds()))
				memory.add(row+1, "", fmt.Sprintf("%d", c.peak>>20))
			}
		}
		if last := len(o.sizes) - 1; last > 0 {
			t.add(0, "", "growth")
			for row := range estatePhases {
				e := growth(o.sizes[0], o.sizes[last], results[0][row].cpu, results[last][row].cpu)
				t.add(row+1, "", fmt.Sprintf("N^%.2f", e))
			}
		}
		fmt.Fprintf(out, "\n%s: %s; %d objects each\n\n", shape.name, shape.about, estateObjects)
		t.print(out)
		fmt.Fprintln(out)
		memory.print(out)
	}
	if o.mirror == "" {
		return nil
	}
	return o.measureStarts(out)
}

// startSizes are the numbers of root modules for which process starts are counted.
var startSizes = []int{5, 20, 80}

// startCommands lists the commands whose process starts are counted.
var startCommands = [][]string{
	{"roots", "validate"}, {"roots", "plan", "-share-providers"}, {"roots", "plan"},
}

// measureStarts counts the processes of a provider with 1,500 resource types that commands start,
// and prints the counts. All root modules have the same configuration of the provider. The provider
// records each start.
func (o *options) measureStarts(out io.Writer) error {
	var t table
	t.row("provider processes")
	for _, args := range startCommands {
		t.row(strings.Join(args, " "))
	}
	for _, n := range startSizes {
		counts, err := o.countStarts(n)
		if err != nil {
			return fmt.Errorf("%d root modules with a provider: %w", n, err)
		}
		t.add(0, "", fmt.Sprintf("%d", n))
		for row, count := range counts {
			t.add(row+1, "", fmt.Sprintf("%d", count))
		}
	}
	fmt.Fprint(out, "\nprocesses of one provider with 1,500 resource types, by number of root modules\n\n")
	t.print(out)
	return nil
}

// countStarts returns the number of process starts for each command with n root modules.
func (o *options) countStarts(n int) ([]int, error) {
	top, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(top)
	b, err := newBench(o, o.bin, top, o.mirror)
	if err != nil {
		return nil, err
	}
	b.env = append(b.env, "SYNTH_TYPES=1500")
	const resource = "resource \"synth_t0\" \"r\" {\n  name  = \"r\"\n  input = \"value\"\n}\n"
	for i := range n {
		dir := filepath.Join(b.dir, fmt.Sprintf("r%04d", i))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(synthRequired+resource), 0o644); err != nil {
			return nil, err
		}
	}
	if _, err := b.run("roots", "init"); err != nil {
		return nil, err
	}
	var out []int
	for i, args := range startCommands {
		path := filepath.Join(top, fmt.Sprintf("starts%d", i))
		one := *b
		one.env = append(slices.Clone(b.env), "PROVIDER_STARTS="+path)
		if _, err := one.run(args...); err != nil {
			return nil, err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		out = append(out, strings.Count(string(text), "\n"))
	}
	return out, nil
}

// measureEstate measures all phases on a new estate. After the apply, it checks the content of the
// states.
func (o *options) measureEstate(reads map[string][]string) ([]cost, error) {
	top, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(top)
	b, err := newBench(o, o.bin, top, "")
	if err != nil {
		return nil, err
	}
	names := slices.Sorted(maps.Keys(reads))
	for _, name := range names {
		if err := writeRoot(filepath.Join(b.dir, name), name, reads[name]); err != nil {
			return nil, err
		}
	}
	var out []cost
	for _, p := range estatePhases {
		if p.change {
			path := filepath.Join(b.dir, names[0], "more.tf")
			if err := os.WriteFile(path, []byte("resource \"terraform_data\" \"more\" {}\n"), 0o644); err != nil {
				return nil, err
			}
		}
		c, err := b.run(p.args...)
		if err == nil && p.name == "apply" {
			err = checkEstate(b.dir, reads)
		}
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// writeRoot writes a root module that reads other root modules and stores one output of each.
func writeRoot(dir, name string, reads []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "resource \"terraform_data\" \"object\" {\n  count = %d\n  input = \"%s ${count.index}\"\n}\n",
		estateObjects, name)
	var stored strings.Builder
	for _, other := range reads {
		label := strings.ReplaceAll(other, "/", "_")
		up := strings.Repeat("../", strings.Count(name, "/")+1)
		fmt.Fprintf(&b, "data \"terraform_remote_state\" %q {\n  backend = \"local\"\n  config = {\n    path = "+
			"\"${path.module}/%s%s/terraform.tfstate\"\n  }\n}\n", label, up, other)
		fmt.Fprintf(&stored, "    %q = data.terraform_remote_state.%s.outputs.id\n", other, label)
	}
	fmt.Fprintf(&b, "resource \"terraform_data\" \"reads\" {\n  input = {\n%s  }\n}\n", &stored)
	fmt.Fprint(&b, "output \"id\" {\n  value = terraform_data.object[0].id\n}\n")
	fmt.Fprint(&b, "output \"reads\" {\n  value = terraform_data.reads.output\n}\n")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "main.tf"), []byte(b.String()), 0o644)
}

// checkEstate returns an error if an output that a root module stores is not up to date.
func checkEstate(top string, reads map[string][]string) error {
	type outputs struct {
		ID    string
		Reads map[string]string
	}
	all := make(map[string]outputs, len(reads))
	for name := range reads {
		var st struct {
			Outputs map[string]struct{ Value json.RawMessage }
		}
		text, err := os.ReadFile(filepath.Join(top, name, "terraform.tfstate"))
		if err == nil {
			err = json.Unmarshal(text, &st)
		}
		var of outputs
		if err == nil {
			err = json.Unmarshal(st.Outputs["id"].Value, &of.ID)
		}
		if err == nil && len(reads[name]) > 0 {
			err = json.Unmarshal(st.Outputs["reads"].Value, &of.Reads)
		}
		if err != nil {
			return fmt.Errorf("the state of %s: %w", name, err)
		}
		all[name] = of
	}
	var errs []error
	for name, others := range reads {
		for _, other := range others {
			if all[name].Reads[other] != all[other].ID {
				errs = append(errs,
					fmt.Errorf("%s has the output %q of %s, which is %q", name, all[name].Reads[other], other,
						all[other].ID))
			}
		}
	}
	return errors.Join(errs...)
}
