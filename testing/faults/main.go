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

// options are the command line.
type options struct {
	bin, mirror   string
	runs, objects int
	signals, ops  []string
	random        *rand.Rand
}

// tally is what the runs of one kind came to.
type tally struct {
	existed, lost, ghosts int
	problems              []string
}

func main() {
	if err := faults(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

func faults(args []string) error {
	o := &options{}
	var signalNames, opNames string
	var seed uint64
	f := flag.NewFlagSet("faults", flag.ExitOnError)
	f.StringVar(&o.bin, "bin", "bin/tofu", "the `program` to interrupt")
	f.StringVar(&o.mirror, "mirror", "build/mirror", "the `folder` of provider plugins that make providers builds")
	f.IntVar(&o.runs, "runs", 5, "how many runs of each kind")
	f.IntVar(&o.objects, "objects", 80, "how many files a run has")
	f.StringVar(&signalNames, "signals", "KILL,INT,TERM,HUP,PIPE", "what interrupts")
	f.StringVar(&opNames, "ops", "create,update,delete", "what is interrupted")
	f.Uint64Var(&seed, "seed", 1, "where the random moments come from")
	if err := f.Parse(args); err != nil {
		return err
	}
	var err1, err2 error
	o.bin, err1 = filepath.Abs(o.bin)
	o.mirror, err2 = filepath.Abs(o.mirror)
	o.signals, o.ops = strings.Split(signalNames, ","), strings.Split(opNames, ",")
	o.random = rand.New(rand.NewPCG(seed, 0))
	if err := errors.Join(err1, err2, o.check()); err != nil {
		return err
	}
	bad := false
	for _, op := range o.ops {
		for _, sig := range o.signals {
			var t tally
			for range o.runs {
				if err := o.once(op, sig, &t); err != nil {
					return fmt.Errorf("%s %s: %w", sig, op, err)
				}
			}
			bad = bad || t.lost > 0 || t.ghosts > 0 || len(t.problems) > 0
			fmt.Printf("%-4s %s: %d runs, %d files existed, %d lost, %d ghosts, %d other problems\n",
				sig, op, o.runs, t.existed, t.lost, t.ghosts, len(t.problems))
			slices.Sort(t.problems)
			for _, p := range slices.Compact(t.problems) {
				fmt.Println("    " + p)
			}
		}
	}
	if bad {
		return errors.New("something was forgotten")
	}
	return nil
}

func (o *options) check() error {
	for _, s := range o.signals {
		if _, ok := signals[s]; !ok {
			return fmt.Errorf("-signals: there is no signal %q", s)
		}
	}
	for _, op := range o.ops {
		if !slices.Contains([]string{"create", "update", "delete"}, op) {
			return fmt.Errorf("-ops: there is no operation %q", op)
		}
	}
	if _, err := os.Stat(filepath.Join(o.mirror, "example.com")); err != nil {
		return fmt.Errorf("there are no plugins in %s: run make providers", o.mirror)
	}
	return nil
}
