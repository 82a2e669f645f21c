package main

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
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
		{time.Millisecond, 8 * time.Millisecond, 0}, // both measurements are smaller than floor
		{time.Millisecond, 64 * floor, 2},           // the first measurement is treated as floor
	}
	for _, test := range tests {
		if got := growth(1000, 8000, test.before, test.after); math.Abs(got-test.want) > 1e-9 {
			t.Errorf("from %s to %s: got %g, want %g", test.before, test.after, got, test.want)
		}
	}
}

func TestGate(t *testing.T) {
	o := &options{sizes: []int{10, 100}, gate: 1.25}
	costs := func(small, large time.Duration) []result {
		return []result{{phase: "plan", costs: [2]map[int]cost{{10: {cpu: small}, 100: {cpu: large}}}}}
	}
	if over := o.overGate(shapes[0], costs(time.Second+1, 10*time.Second), 1); len(over) > 0 {
		t.Error(over)
	}
	if over := o.overGate(shapes[0], costs(time.Second, 30*time.Second), 0); len(over) != 1 ||
		!strings.Contains(over[0].Error(), "exponent 1.48") {
		t.Errorf("got %v", over)
	}
}

func TestTable(t *testing.T) {
	results := []result{{phase: "plan", costs: [2]map[int]cost{
		{10: {wall: time.Second, cpu: 2 * time.Second, peak: 3 << 20},
			100: {wall: 10 * time.Second, cpu: 20 * time.Second, peak: 30 << 20}},
		{10: {wall: 5 * time.Second, cpu: 5 * time.Second, peak: 30 << 20}},
	}}}
	var b strings.Builder
	printTable(&b, &options{sizes: []int{10, 100}}, shape{name: "x", about: "y"}, results, []cost{{}, {}})
	want := `
x: y

| phase | size | wall s | CPU s | MiB | growth | other wall s | other CPU s | other MiB | other growth | wall ratio | less start | CPU ratio | memory ratio |
| ----- | ---: | -----: | ----: | --: | -----: | -----------: | ----------: | --------: | -----------: | ---------: | ---------: | --------: | -----------: |
| plan  |   10 |   1.00 |  2.00 |   3 |        |         5.00 |        5.00 |        30 |              |        5.0 |        5.0 |       2.5 |         10.0 |
| plan  |  100 |  10.00 | 20.00 |  30 |   1.00 |            – |           – |         – |            – |            |            |           |              |
`
	if b.String() != want {
		t.Errorf("got %s", b.String())
	}
}

// TestShapesAreLinear checks that the length of each shape's configuration is proportional to its
// size. Otherwise the measured growth would be meaningless.
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
				t.Errorf("%s of %s: grows from %d to %d bytes", s.name, r.typ, small, large)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{
		{"-shapes", "square"}, {"-phases", "dance"}, {"-sizes", "10,5"}, {"-sizes", "x"},
		{"-type", "synth_t0"}, {"plan"},
	} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
	o, err := parse([]string{"-shapes", "all", "-mirror", os.TempDir()})
	if err != nil || len(o.shapes) != len(shapes)-2 || len(o.sizes) != 2 {
		t.Errorf("got %d shapes, %v", len(o.shapes), err)
	}
}

// TestMeasure checks the measured cost of a command. The program is a shell script.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	script := func(text string) string {
		f := filepath.Join(dir, "program")
		if err := os.WriteFile(f, []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
		return f
	}
	b, err := newBench(&options{timeout: time.Minute}, script("echo ran $1; exec sleep $2\n"), dir, "")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := b.run("x", "0.05")
	if err != nil || c.wall < 50*time.Millisecond || c.peak == 0 || runtime.GOOS == "linux" && c.own.peak == 0 {
		t.Errorf("got %+v, %v", c, err)
	}
	b.timeout = 50 * time.Millisecond
	if _, err := b.run("x", "60"); err != errTimeout {
		t.Errorf("got %v", err)
	}
	b.timeout = time.Minute
	b.program = script("echo the reason >&2; exit 1\n")
	if _, err := b.run("x"); err == nil || !strings.Contains(err.Error(), "the reason") {
		t.Errorf("got %v", err)
	}
}

func TestReadTraffic(t *testing.T) {
	file := filepath.Join(t.TempDir(), "counts")
	text := "==1== I   refs:      1,093,315,006\n==1== I1  misses:        6,253,630\n==1== D   refs:        " +
		"419,672,490  (275,361,842 rd)\n" +
		"==1== D1  misses:        4,916,030  (  3,120,912 rd)\n==1== LLd misses:          452,826  (    125,893 rd)\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readTraffic(file); err != nil || got != (traffic{1093315006, 4916030, 452826}) {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readTraffic(file); err == nil {
		t.Error("an empty report was read without an error")
	}
}
