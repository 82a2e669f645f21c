package main

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestGrowth(t *testing.T) {
	tests := []struct {
		before, after time.Duration
		want          float64
	}{
		{time.Second, 8 * time.Second, 1},
		{time.Second, 64 * time.Second, 2},
		{time.Second, time.Second, 0},
		{time.Millisecond, 8 * time.Millisecond, 0}, // noise
		{time.Millisecond, 64 * floor, 2},           // but not an excuse
	}
	for _, test := range tests {
		if got := growth(1000, 8000, test.before, test.after); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("from %s to %s: got %g, want %g", test.before, test.after, got, test.want)
		}
	}
}

func TestGate(t *testing.T) {
	o := &options{sizes: []int{10, 100}, gate: 1.25}
	costs := func(small, large time.Duration) result {
		return result{phase: "plan", costs: [2]map[int]cost{{10: {cpu: small}, 100: {cpu: large}}}}
	}
	if err := o.overGate(shapes[0], costs(time.Second+1, 10*time.Second), 1); err != nil {
		t.Error(err)
	}
	if err := o.overGate(shapes[0], costs(time.Second, 30*time.Second), 0); err == nil || !strings.Contains(err.Error(), "exponent 1.48") {
		t.Errorf("got %v", err)
	}
}

// A shape whose text grew faster than its size would prove nothing.
func TestShapesAreLinear(t *testing.T) {
	size := func(s shape, r resource, n int) (total int64) {
		dir := t.TempDir()
		m := newModule(filepath.Join(dir, "m"), r)
		s.write(m, n)
		if err := m.close(); err != nil {
			t.Fatal(err)
		}
		err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			info, err := d.Info()
			if err == nil {
				total += info.Size()
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return total
	}
	for _, s := range shapes {
		for _, r := range resources {
			small, large := size(s, r, 1600), size(s, r, 12800)
			if small < 100 || float64(large) > 8.8*float64(small) {
				t.Errorf("%s of %s: %d bytes grow to %d", s.name, r.typ, small, large)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{
		{"-shapes", "square"}, {"-phases", "dance"}, {"-sizes", "10,5"}, {"-sizes", "x"}, {"-type", "synth_t0"}, {"plan"},
	} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
	o, err := parse([]string{"-shapes", "all", "-mirror", os.TempDir()})
	if err != nil || len(o.shapes) != len(shapes) || len(o.sizes) != 2 {
		t.Errorf("got %d shapes, %v", len(o.shapes), err)
	}
}

// Programs are known only by their command line, so a shell script will do.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	script := func(text string) string {
		f := filepath.Join(dir, "program")
		if err := os.WriteFile(f, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return f
	}
	b, err := newBench(script("echo ran $1; test $1 != fail; exec sleep $2\n"), dir, "", 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := b.run("x", "0.05")
	if err != nil || c.wall < 50*time.Millisecond || c.peak == 0 {
		t.Errorf("got %+v, %v", c, err)
	}
	if _, err := b.run("x", "5"); err != errTimeout {
		t.Errorf("got %v", err)
	}
	b.program = script("echo this is why >&2; exit 1\n")
	if _, err := b.run("x"); err == nil || !strings.Contains(err.Error(), "this is why") {
		t.Errorf("got %v", err)
	}
}
