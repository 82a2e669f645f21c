//go:build unix

package main

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// options holds the values of the command line options.
type options struct {
	bin, mirror         string
	kinds, signals, ops []string
	runs, objects       int
	every, from         int
	random              *rand.Rand
}

// kind is a kind of fault.
type kind struct {
	name string
	run  func(o *options, report func(name string, t *tally)) error
}

var kinds = []kind{
	{"signals", (*options).atRandomTimes},
	{"calls", (*options).atEveryCall},
	{"space", (*options).onFullDisks},
	{"requests", (*options).atEveryRequest},
	{"stores", (*options).atEveryStoreRequest},
	{"postgres", (*options).onPostgres},
}

// tally counts the results of all runs with one kind of fault.
type tally struct {
	runs, existed, lost, ghosts int
	problems                    []string
}

func (t *tally) problem(format string, args ...any) {
	t.problems = append(t.problems, fmt.Sprintf(format, args...))
}

func main() {
	if err := faults(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func faults(args []string) error {
	o := &options{}
	var kindNames, signalNames, opNames string
	var seed uint64
	f := flag.NewFlagSet("faults", flag.ExitOnError)
	f.StringVar(&o.bin, "bin", "bin/tofu", "the `program` to interrupt")
	f.StringVar(&o.mirror, "mirror", "build/mirror", "the `directory` of the provider plugins (see make providers)")
	f.StringVar(&kindNames, "kinds", "signals,calls,space,requests,stores,postgres", "kinds of faults")
	f.StringVar(&opNames, "ops", "create,update,delete", "operations to interrupt")
	f.StringVar(&signalNames, "signals", "KILL,INT,TERM,HUP,PIPE", "signals to send to the program, for the kind signals")
	f.IntVar(&o.runs, "runs", 5, "number of runs with each signal, and with each fault of PostgreSQL")
	f.IntVar(&o.objects, "objects", 100, "number of files in a run")
	f.IntVar(&o.every, "every", 1, "for all kinds except signals, inject faults only at every n-th possible point")
	f.IntVar(&o.from, "from", 0, "the number of the first of these points, modulo -every")
	f.Uint64Var(&seed, "seed", 1, "seed for the random times")
	if err := f.Parse(args); err != nil {
		return err
	}
	var err1, err2 error
	o.bin, err1 = filepath.Abs(o.bin)
	o.mirror, err2 = filepath.Abs(o.mirror)
	o.kinds, o.signals, o.ops = strings.Split(kindNames, ","), strings.Split(signalNames, ","),
		strings.Split(opNames, ",")
	o.random = rand.New(rand.NewPCG(seed, 0))
	if err := errors.Join(err1, err2, o.check()); err != nil {
		return err
	}
	bad := false
	report := func(name string, t *tally) {
		bad = bad || t.lost > 0 || t.ghosts > 0 || len(t.problems) > 0
		fmt.Printf("%s: %d runs, %d files existed, %d lost, %d ghosts, %d other problems\n", name, t.runs, t.existed,
			t.lost, t.ghosts, len(t.problems))
		slices.Sort(t.problems)
		for _, p := range slices.Compact(t.problems) {
			fmt.Println("    " + p)
		}
	}
	for _, k := range kinds {
		if slices.Contains(o.kinds, k.name) {
			if err := k.run(o, report); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	if bad {
		return errors.New("objects were lost, or a run had other problems")
	}
	return nil
}

// chosen reports whether the options -every and -from select the i-th point at which a fault is
// possible.
func (o *options) chosen(i int) bool { return i%o.every == o.from%o.every }

// operations returns the operations that the option -ops selects.
func (o *options) operations() []operation {
	return slices.DeleteFunc(slices.Clone(operations),
		func(op operation) bool { return !slices.Contains(o.ops, op.name) })
}

func (o *options) check() error {
	for _, k := range o.kinds {
		isNamed := func(known kind) bool { return known.name == k }
		if !slices.ContainsFunc(kinds, isNamed) {
			return fmt.Errorf("-kinds: unknown kind %q", k)
		}
	}
	for _, s := range o.signals {
		if _, ok := signals[s]; !ok {
			return fmt.Errorf("-signals: unknown signal %q", s)
		}
	}
	for _, name := range o.ops {
		isNamed := func(op operation) bool { return op.name == name }
		if !slices.ContainsFunc(operations, isNamed) {
			return fmt.Errorf("-ops: unknown operation %q", name)
		}
	}
	if o.every < 1 || o.from < 0 {
		return errors.New("-every must be at least 1, and -from at least 0")
	}
	if _, err := os.Stat(filepath.Join(o.mirror, "example.com")); err != nil {
		return fmt.Errorf("%s has no plugins: run make providers", o.mirror)
	}
	return nil
}
