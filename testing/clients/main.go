// Command clients checks programs that call tofu or read its output. It runs a suite with this
// program and with OpenTofu and lists what passes with OpenTofu alone:
//
//	go -C testing/clients run . -bin FILE -ref FILE [-run REGEXP] [-log DIR] SUITE [PROGRAM [FOLDER]]
//
// PROGRAM is the compiled test program of the other project, and FOLDER the folder with the source
// of its tests, in which it runs. For a suite that reads output, PROGRAM is the reader. Both are
// obtained outside of this project; without arguments, the command lists the suites. What a suite
// needs besides, such as a filesystem mirror in TF_CLI_CONFIG_FILE, comes from the environment.
//
// The exit status is 1 if something passes only with OpenTofu.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// outcomes maps the name of each test to PASS, FAIL or SKIP.
type outcomes map[string]string

func main() {
	var opts options
	flag.StringVar(&opts.bin, "bin", "../../bin/tofu", "this `program`")
	flag.StringVar(&opts.ref, "ref", "", "OpenTofu's `program`; without it, only this program is checked")
	flag.StringVar(&opts.match, "run", "", "run only the tests that match `regexp`")
	flag.StringVar(&opts.logs, "log", "", "write the output of the tests into `directory`")
	flag.Parse()
	if flag.NArg() == 0 {
		for _, s := range suites {
			fmt.Printf("%-15s %s\n", s.name, s.needs)
		}
		return
	}
	lost, err := opts.compare(flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	if lost > 0 {
		os.Exit(1)
	}
}

type options struct {
	bin, ref    string
	match, logs string
}

// compare runs a suite with both programs and returns how many tests pass only with OpenTofu. If
// there is no OpenTofu, it returns how many fail.
func (o *options) compare(args []string) (int, error) {
	i := slices.IndexFunc(suites, func(s suite) bool { return s.name == args[0] })
	if i < 0 {
		return 0, fmt.Errorf("there is no suite %q; run the command without arguments for a list", args[0])
	}
	t := &target{suite: &suites[i], match: o.match, logs: o.logs}
	if len(args) > 1 {
		var err error
		t.program, err = filepath.Abs(args[1])
		if err != nil {
			return 0, err
		}
		t.folder = filepath.Dir(t.program)
	}
	if len(args) > 2 {
		t.folder = args[2]
	}
	ours, err := t.report("tofu", o.bin)
	if err != nil {
		return 0, err
	}
	if o.ref == "" {
		failed := ours.names(func(name string) bool { return ours[name] == "FAIL" })
		for _, name := range failed {
			fmt.Println("  fails: " + name)
		}
		return len(failed), nil
	}
	ref, err := t.report("OpenTofu", o.ref)
	if err != nil {
		return 0, err
	}
	lost := ref.names(func(name string) bool { return ref[name] == "PASS" && ours[name] != "PASS" })
	for _, name := range lost {
		fmt.Println("  passes only with OpenTofu: " + name)
	}
	for _, name := range ours.names(func(name string) bool { return ours[name] == "PASS" && ref[name] == "FAIL" }) {
		fmt.Println("  passes only with tofu: " + name)
	}
	return len(lost), nil
}

// report runs the suite with one program and prints a line of counts.
func (t *target) report(name, bin string) (outcomes, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(bin); err != nil {
		return nil, err
	}
	t.name = name
	start := time.Now()
	found, err := t.suite.run(t, bin)
	if err != nil {
		return nil, fmt.Errorf("%s with %s: %w", t.suite.name, name, err)
	}
	count := map[string]int{}
	for _, outcome := range found {
		count[outcome]++
	}
	fmt.Printf("%s: %d pass, %d fail, %d skipped in %.0f s\n", name, count["PASS"], count["FAIL"], count["SKIP"],
		time.Since(start).Seconds())
	return found, nil
}

// names returns the sorted names of the tests that keep selects.
func (o outcomes) names(keep func(string) bool) []string {
	return slices.DeleteFunc(slices.SortedFunc(maps.Keys(o), cmp.Compare[string]),
		func(name string) bool { return !keep(name) })
}
