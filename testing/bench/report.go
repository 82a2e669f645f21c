package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"
)

// floor is the CPU time below which a figure is noise: growth from a smaller
// one is computed as if it had been this much.
const floor = 50 * time.Millisecond

// result is one phase of one shape: its costs by program and size. A missing
// cost is one that was not measured.
type result struct {
	phase string
	costs [2]map[int]cost
}

// growth is the exponent e of cost ~ size^e between two sizes.
func growth(small, large int, before, after time.Duration) float64 {
	before, after = max(before, floor), max(after, floor)
	return math.Log(float64(after)/float64(before)) / math.Log(float64(large)/float64(small))
}

// run measures everything and prints a table per shape.
func run(o *options, out io.Writer) error {
	if o.keep != "" {
		return writeAll(o)
	}
	programs := []string{o.bin}
	if o.ref != "" {
		programs = append(programs, o.ref)
	}
	starts := make([]time.Duration, len(programs))
	for i, program := range programs {
		var err error
		if starts[i], err = startUpOf(program, o); err != nil {
			return err
		}
		fmt.Fprintf(out, "%s: starting takes %.3f s of CPU time, which growth leaves out\n", program, starts[i].Seconds())
	}
	var failures []error
	for _, s := range o.shapes {
		results := make([]result, len(o.phases))
		for i, p := range o.phases {
			results[i] = result{phase: p.name, costs: [2]map[int]cost{{}, {}}}
		}
		for _, n := range o.sizes {
			for i, program := range programs {
				if err := o.measure(program, s, n, i, results); err != nil && (i == 0 || !errors.Is(err, errTimeout)) {
					failures = append(failures, fmt.Errorf("%s %s:%d: %w", program, s.name, n, err))
				}
			}
		}
		failures = append(failures, print(out, o, s, results, starts)...)
	}
	return errors.Join(failures...)
}

func startUpOf(program string, o *options) (time.Duration, error) {
	top, err := os.MkdirTemp("", "bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(top)
	b, err := newBench(program, top, "", o.timeout)
	if err != nil {
		return 0, err
	}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		return 0, err
	}
	return b.startUp()
}

// measure runs all phases of one shape and size, as often as asked for, and
// notes the least costs. It stops at the first phase that fails.
func (o *options) measure(program string, s shape, n, column int, results []result) error {
	for range o.count {
		if err := o.measureOnce(program, s, n, column, results); err != nil {
			return err
		}
	}
	return nil
}

func (o *options) measureOnce(program string, s shape, n, column int, results []result) error {
	top, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(top)
	m := newModule(filepath.Join(top, "m"), o.resource)
	s.write(m, n)
	if err := m.close(); err != nil {
		return err
	}
	b, err := newBench(program, top, o.mirror, o.timeout)
	if err != nil {
		return err
	}
	if o.phases[0].name != "init" {
		if _, err := b.run(phases["init"]...); err != nil {
			return err
		}
	}
	for i, p := range o.phases {
		c, err := b.run(p.args...)
		if err != nil {
			return fmt.Errorf("phase %s: %w", p.name, err)
		}
		if earlier, ok := results[i].costs[column][n]; ok {
			c = c.least(earlier)
		}
		results[i].costs[column][n] = c
	}
	return nil
}

// print prints the table of one shape and returns what is over the gate.
func print(out io.Writer, o *options, s shape, results []result, starts []time.Duration) (over []error) {
	fmt.Fprintf(out, "\n%s: %s\n", s.name, s.about)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	header := "phase\tsize\twall s\tCPU s\tMiB\tgrowth\t"
	if len(starts) > 1 {
		header += "ref wall s\tref CPU s\tref MiB\tref growth\twall ratio\t"
	}
	fmt.Fprintln(w, header)
	for _, r := range results {
		for i, n := range o.sizes {
			fmt.Fprintf(w, "%s\t%d\t", r.phase, n)
			for column, start := range starts {
				c, ok := r.costs[column][n]
				if !ok {
					fmt.Fprint(w, "–\t–\t–\t–\t")
					continue
				}
				fmt.Fprintf(w, "%.2f\t%.2f\t%d\t", c.wall.Seconds(), c.cpu.Seconds(), c.peak>>20)
				if before, ok := previous(r, column, o.sizes, i); ok {
					fmt.Fprintf(w, "%.2f\t", growth(o.sizes[i-1], n, before.cpu-start, c.cpu-start))
				} else {
					fmt.Fprint(w, "\t")
				}
			}
			if ours, theirs := r.costs[0][n], r.costs[1][n]; len(starts) > 1 && ours.wall > 0 && theirs.wall > 0 {
				fmt.Fprintf(w, "%.2f\t", ours.wall.Seconds()/theirs.wall.Seconds())
			}
			fmt.Fprintln(w)
		}
		if err := o.overGate(s, r, starts[0]); err != nil {
			over = append(over, err)
		}
	}
	w.Flush()
	return over
}

func previous(r result, column int, sizes []int, i int) (cost, bool) {
	if i == 0 {
		return cost{}, false
	}
	c, ok := r.costs[column][sizes[i-1]]
	return c, ok
}

// overGate compares the smallest and the largest size of the measured program.
func (o *options) overGate(s shape, r result, start time.Duration) error {
	small, large := o.sizes[0], o.sizes[len(o.sizes)-1]
	before, ok1 := r.costs[0][small]
	after, ok2 := r.costs[0][large]
	if o.gate == 0 || small == large || !ok1 || !ok2 {
		return nil
	}
	if g := growth(small, large, before.cpu-start, after.cpu-start); g > o.gate {
		return fmt.Errorf("%s, %s: CPU time grows with exponent %.2f from %d to %d, over the gate of %.2f", s.name, r.phase, g, small, large, o.gate)
	}
	return nil
}

// writeAll writes each shape in each size, and runs nothing.
func writeAll(o *options) error {
	for _, s := range o.shapes {
		for _, n := range o.sizes {
			m := newModule(filepath.Join(o.keep, fmt.Sprintf("%s-%d", s.name, n)), o.resource)
			s.write(m, n)
			if err := m.close(); err != nil {
				return err
			}
		}
	}
	return nil
}
