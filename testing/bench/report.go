package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"
)

// floor is the CPU time below which a measurement is mostly noise. For the computation of growth,
// smaller measurements are treated as floor.
const floor = 50 * time.Millisecond

// result holds the costs of one phase of a shape, by program and size. Costs that were not measured
// are missing.
type result struct {
	phase string
	costs [2]map[int]cost
}

// growth returns the exponent e in cost ~ size^e, computed from two sizes.
func growth(small, large int, before, after time.Duration) float64 {
	before, after = max(before, floor), max(after, floor)
	return math.Log(float64(after)/float64(before)) / math.Log(float64(large)/float64(small))
}

// run measures everything and prints a table for each shape.
func run(o *options, out io.Writer) error {
	if o.keep != "" {
		return writeAll(o)
	}
	if o.waits {
		return waits(o, out)
	}
	if o.estates {
		return measureEstates(o, out)
	}
	if o.postgres {
		return measurePostgres(o, out)
	}
	if o.adopt {
		return adopting(o, out)
	}
	if o.refresh {
		return refreshing(o, out)
	}
	if o.traffic {
		return simulate(o, out)
	}
	programs := []string{o.bin}
	if o.ref != "" {
		programs = append(programs, o.ref)
	}
	starts := make([]cost, len(programs))
	for i, program := range programs {
		var err error
		starts[i], err = startUpOf(program, o)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%sversion: %.3f s, %.3f s of CPU time (subtracted for growth), %.1f MiB\n",
			names[i], starts[i].wall.Seconds(), starts[i].cpu.Seconds(), float64(starts[i].peak)/(1<<20))
	}
	var failures []error
	for _, s := range o.shapes {
		results := make([]result, len(o.phases))
		for i, p := range o.phases {
			results[i] = result{phase: p.name, costs: [2]map[int]cost{{}, {}}}
		}
		failures = append(failures, o.measureAll(programs, s, results)...)
		for range again {
			// Disturbances can only increase a measurement, so a shape above the gate is measured
			// again.
			if len(o.overGate(s, results, starts[0].cpu)) > 0 {
				failures = append(failures, o.measureAll(programs[:1], s, results)...)
			}
		}
		printTable(out, o, s, results, starts)
		failures = append(failures, o.overGate(s, results, starts[0].cpu)...)
	}
	return errors.Join(failures...)
}

// again is the number of times that a shape above the gate is measured again.
const again = 2

// measureAll measures a shape in all sizes. A timeout of the second program is not a failure.
func (o *options) measureAll(programs []string, s shape, results []result) (failures []error) {
	for _, n := range o.sizes {
		for i, program := range programs {
			if err := o.measure(program, s, n, i, results); err != nil && (i == 0 || !errors.Is(err, errTimeout)) {
				failures = append(failures, fmt.Errorf("%s %s:%d: %w", program, s.name, n, err))
			}
		}
	}
	return failures
}

func startUpOf(program string, o *options) (cost, error) {
	top, err := os.MkdirTemp("", "bench")
	if err != nil {
		return cost{}, err
	}
	defer os.RemoveAll(top)
	b, err := newBench(o, program, top, "")
	if err != nil {
		return cost{}, err
	}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		return cost{}, err
	}
	return b.startUp()
}

// measure runs all phases for a shape and size, as many times as the options say, and records the
// minimum costs. If a phase fails, it stops and returns the error.
func (o *options) measure(program string, s shape, n, column int, results []result) error {
	count := o.count
	if column > 0 && o.refCount > 0 {
		count = o.refCount
	}
	for range count {
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
	b, err := newBench(o, program, top, o.mirror)
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

// printTable prints the table of a shape, as Markdown.
func printTable(out io.Writer, o *options, s shape, results []result, starts []cost) {
	fmt.Fprintf(out, "\n%s: %s\n\n", s.name, s.about)
	plugins := s.needsMirror || o.resource.needsMirror
	t := &table{rows: [][]string{{"phase", "size"}}}
	for column := range starts {
		t.add(0, names[column], "wall s", "CPU s", "MiB", "growth")
		if plugins {
			t.add(0, names[column], "own CPU s", "own MiB")
		}
	}
	if len(starts) > 1 {
		t.add(0, "", "wall ratio", "less start", "CPU ratio", "memory ratio")
	}
	for _, r := range results {
		for i, n := range o.sizes {
			if o.last && i < len(o.sizes)-1 {
				continue
			}
			row := t.row(r.phase, fmt.Sprint(n))
			for column, start := range starts {
				t.cost(row, r, column, o.sizes, i, start.cpu, plugins)
			}
			if ours, theirs := r.costs[0][n], r.costs[1][n]; len(starts) > 1 && ours.wall > 0 && theirs.wall > 0 {
				t.add(row, "", ratio(theirs.wall, ours.wall),
					ratio(theirs.wall-starts[1].wall, ours.wall-starts[0].wall), ratio(theirs.cpu, ours.cpu),
					ratio(theirs.peak, ours.peak))
			}
		}
	}
	t.print(out)
}

// ratio returns the other program's figure divided by this program's, as text.
func ratio[T ~int64](theirs, ours T) string {
	return fmt.Sprintf("%.1f", float64(theirs)/float64(max(1, ours)))
}

// names holds the prefixes of the columns of the two programs.
var names = [...]string{"", "other "}

// cost adds the figures of a program for one size to a row.
func (t *table) cost(row int, r result, column int, sizes []int, i int, start time.Duration, plugins bool) {
	c, ok := r.costs[column][sizes[i]]
	if !ok {
		t.add(row, "", "–", "–", "–", "–")
		if plugins {
			t.add(row, "", "–", "–")
		}
		return
	}
	e := ""
	if before, ok := previous(r, column, sizes, i); ok {
		e = fmt.Sprintf("%.2f", growth(sizes[i-1], sizes[i], before.cpu-start, c.cpu-start))
	}
	t.add(row, "", fmt.Sprintf("%.2f", c.wall.Seconds()), fmt.Sprintf("%.2f", c.cpu.Seconds()),
		fmt.Sprint(c.peak>>20), e)
	if plugins {
		t.add(row, "", fmt.Sprintf("%.2f", c.own.cpu.Seconds()), fmt.Sprint(c.own.peak>>20))
	}
}

func previous(r result, column int, sizes []int, i int) (cost, bool) {
	if i == 0 {
		return cost{}, false
	}
	c, ok := r.costs[column][sizes[i-1]]
	return c, ok
}

// overGate compares the costs at the smallest and the largest size. It returns an error for each
// phase whose growth exponent exceeds the gate.
func (o *options) overGate(s shape, results []result, start time.Duration) (over []error) {
	small, large := o.sizes[0], o.sizes[len(o.sizes)-1]
	if o.gate == 0 || small == large {
		return nil
	}
	for _, r := range results {
		before, ok1 := r.costs[0][small]
		after, ok2 := r.costs[0][large]
		if !ok1 || !ok2 {
			continue
		}
		if g := growth(small, large, before.cpu-start, after.cpu-start); g > o.gate {
			over = append(over, fmt.Errorf("%s, %s: CPU time grows with exponent %.2f from %d to %d, above "+
				"the gate of %.2f",
				s.name, r.phase, g, small, large, o.gate))
		}
	}
	return over
}

// writeAll writes every shape in every size and runs nothing.
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
