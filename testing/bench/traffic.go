package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// traffic holds counts of instructions and memory accesses. Unlike times, they are the same in
// every run of a program, even if the machine is busy.
type traffic struct {
	instructions int64
	l1Misses     int64 // data misses in the first-level cache
	misses       int64 // data misses in all caches, which access memory
}

// lastLevel describes the simulated last-level cache for cachegrind: size in bytes, associativity,
// and line size in bytes. Two megabytes are a common share of one core. The cache of the host is
// not used, because it differs between machines.
const lastLevel = "2097152,16,64"

// simulate runs each phase of the shapes once under valgrind's cachegrind, and prints a table for
// each shape. This takes about a hundred times as long as running the program without valgrind.
func simulate(o *options, out io.Writer) error {
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		return fmt.Errorf("-traffic requires valgrind: %w", err)
	}
	var failures []error
	for _, s := range o.shapes {
		fmt.Fprintf(out, "\n%s: %s\n\n", s.name, s.about)
		t := &table{rows: [][]string{{"phase", "size", "Minstr", "growth", "L1 misses (k)", "growth",
			"misses (k)", "growth"}}}
		counts := make([]map[string]traffic, len(o.sizes))
		for i, n := range o.sizes {
			counts[i], err = o.simulateShape(valgrind, s, n)
			if err != nil {
				failures = append(failures, fmt.Errorf("%s:%d: %w", s.name, n, err))
			}
		}
		for _, p := range o.phases {
			for i, n := range o.sizes {
				c, ok := counts[i][p.name]
				if !ok {
					continue
				}
				var before traffic
				if i > 0 {
					before = counts[i-1][p.name]
				}
				row := t.row(p.name, strconv.Itoa(n))
				for _, f := range []struct{ unit, before, now int64 }{
					{1e6, before.instructions, c.instructions}, {1e3, before.l1Misses, c.l1Misses},
					{1e3, before.misses, c.misses},
				} {
					t.add(row, "", strconv.FormatInt(f.now/f.unit, 10), exponent(o.sizes, i, f.before, f.now))
				}
			}
		}
		t.print(out)
	}
	return errors.Join(failures...)
}

// exponent returns e in count ~ size^e as text, computed from the i-th size and the previous one.
// It returns "" if there is no previous count.
func exponent(sizes []int, i int, before, now int64) string {
	if i == 0 || before == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", math.Log(float64(now)/float64(before))/math.Log(float64(sizes[i])/float64(sizes[i-1])))
}

// simulateShape runs all phases for one shape and size. It returns the counts by phase.
func (o *options) simulateShape(valgrind string, s shape, n int) (map[string]traffic, error) {
	top, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(top)
	m := newModule(filepath.Join(top, "m"), o.resource)
	s.write(m, n)
	if err := m.close(); err != nil {
		return nil, err
	}
	b, err := newBench(o, o.bin, top, o.mirror)
	if err != nil {
		return nil, err
	}
	if _, err := b.run(phases["init"]...); err != nil {
		return nil, err
	}
	// Collect garbage even if the heap is small, and always at the same times.
	b.env = append(b.env, "GOGC=100", "GOMAXPROCS=1")
	b.program = valgrind
	report := filepath.Join(top, "counts")
	counts := map[string]traffic{}
	for _, p := range o.phases {
		args := []string{"--tool=cachegrind", "--cache-sim=yes", "--LL=" + lastLevel, "--log-file=" + report,
			"--cachegrind-out-file=/dev/null", o.bin}
		if _, err := b.run(append(args, p.args...)...); err != nil {
			return counts, fmt.Errorf("phase %s: %w", p.name, err)
		}
		counts[p.name], err = readTraffic(report)
		if err != nil {
			return counts, fmt.Errorf("phase %s: %w", p.name, err)
		}
	}
	return counts, nil
}

var trafficLine = regexp.MustCompile(`(?m)^==\d+== +(I +refs|D1 +misses|LLd misses): +([\d,]+)`)

// readTraffic reads the counts in the summary that cachegrind writes.
func readTraffic(path string) (traffic, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return traffic{}, err
	}
	var t traffic
	found := trafficLine.FindAllStringSubmatch(string(text), -1)
	for _, match := range found {
		n, err := strconv.ParseInt(strings.ReplaceAll(match[2], ",", ""), 10, 64)
		if err != nil {
			return traffic{}, err
		}
		switch match[1][0:2] {
		case "I ":
			t.instructions = n
		case "D1":
			t.l1Misses = n
		case "LL":
			t.misses = n
		}
	}
	if len(found) != 3 {
		return traffic{}, fmt.Errorf("invalid report of cachegrind:\n%s", text)
	}
	return t, nil
}
