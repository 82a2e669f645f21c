package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// options holds the values of the command line options.
type options struct {
	bin, ref, mirror string
	shapes           []shape
	sizes            []int
	phases           []phase
	resource         resource
	timeout          time.Duration
	count, refCount  int
	gate             float64
	keep             string
	last             bool
	traffic          bool
	waits            bool
	estates          bool
	postgres         bool
	refresh          bool
	adopt            bool
}

func main() {
	o, err := parse(os.Args[1:])
	if err == nil {
		err = run(o, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (*options, error) {
	o := &options{}
	f := flag.NewFlagSet("bench", flag.ExitOnError)
	var shapeNames, sizes, phaseNames, resourceName string
	f.StringVar(&o.bin, "bin", "bin/tofu", "the `program` to measure")
	f.StringVar(&o.ref, "ref", "", "a second `program` to measure")
	f.StringVar(&o.mirror, "mirror", "", "the `directory` of the provider plugins (see make providers)")
	f.StringVar(&shapeNames, "shapes", "all", "shapes to measure:\n"+describe())
	f.StringVar(&sizes, "sizes", "1000,8000", "numbers of instances, in ascending order")
	f.StringVar(&phaseNames, "phases", "validate,graph,planout,showjson,apply,noop,show,statelist,destroy",
		"commands to run, in `order`: "+strings.Join(phaseList(), " "))
	f.StringVar(&resourceName, "type", "terraform_data",
		"terraform_data, or synth_t0 for a real plugin (needs -mirror)")
	f.BoolVar(&o.last, "last", false, "print only the figures of the largest size, with the growth up to it")
	f.DurationVar(&o.timeout, "timeout", 10*time.Minute, "time limit for one command")
	f.IntVar(&o.count, "count", 1, "number of runs, of which the fastest counts")
	f.IntVar(&o.refCount, "refcount", 0, "number of runs of the second program; 0 means the same as -count")
	f.Float64Var(&o.gate, "gate", 0, "fail if the CPU time of a command grows with an exponent above this; 0 means no limit")
	f.StringVar(&o.keep, "write", "", "write the modules to this `directory`, and measure nothing")
	f.BoolVar(&o.traffic, "traffic", false, "count instructions and cache misses with valgrind instead of "+
		"measuring time")
	f.BoolVar(&o.waits, "waits", false, "measure how long an apply waits for what it doesn't need, and nothing else")
	f.BoolVar(&o.estates, "estates", false,
		"measure commands for many root modules; -sizes are numbers of root modules")
	f.BoolVar(&o.postgres, "postgres", false, "measure states in a private PostgreSQL server, and nothing else; "+
		"-ref is OpenTofu, with its backend pg")
	f.BoolVar(&o.refresh, "refresh", false, "measure plans behind a slow provider, a full refresh behind one that refuses "+
		"calls, and drift of many root modules; the last of -sizes is the number of objects; requires -mirror")
	f.BoolVar(&o.adopt, "adopt", false, "measure adopting as many objects as the last of -sizes, and the division of a root "+
		"module; requires -mirror")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	return o, o.choose(shapeNames, sizes, phaseNames, resourceName)
}

// choose sets the options whose values are lists, such as the names of shapes.
func (o *options) choose(shapeNames, sizes, phaseNames, resourceName string) error {
	var err error
	for _, path := range []*string{&o.bin, &o.ref, &o.mirror, &o.keep} {
		if *path == "" {
			continue
		}
		*path, err = filepath.Abs(*path)
		if err != nil {
			return err
		}
	}
	for _, r := range resources {
		if r.typ == resourceName {
			o.resource = r
		}
	}
	if o.resource.typ == "" {
		return fmt.Errorf("-type: unknown type %q; the types are terraform_data and synth_t0", resourceName)
	}
	if o.resource.needsMirror && o.mirror == "" {
		return fmt.Errorf("-type: %s requires -mirror", resourceName)
	}
	for name := range strings.SplitSeq(shapeNames, ",") {
		found := false
		for _, s := range shapes {
			if s.name != name && (name != "all" || s.fixed) {
				continue
			}
			found = true
			if s.needsMirror && o.mirror == "" {
				fmt.Fprintf(os.Stderr, "bench: skipping shape %s, which requires -mirror\n", s.name)
				continue
			}
			o.shapes = append(o.shapes, s)
		}
		if !found {
			return fmt.Errorf("-shapes: unknown shape %q; the shapes are:\n%s", name, describe())
		}
	}
	for name := range strings.SplitSeq(phaseNames, ",") {
		p, ok := phases[name]
		if !ok {
			return fmt.Errorf("-phases: unknown phase %q; the phases are: %s", name, strings.Join(phaseList(), " "))
		}
		o.phases = append(o.phases, phase{name, p})
	}
	for text := range strings.SplitSeq(sizes, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || len(o.sizes) > 0 && n <= o.sizes[len(o.sizes)-1] {
			return fmt.Errorf("-sizes: %q must be a positive whole number larger than the previous one", text)
		}
		o.sizes = append(o.sizes, n)
	}
	return nil
}
