package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	slowRead    = 200 // duration of a read in milliseconds
	readsLimit  = 50  // reads per second after which the provider refuses
	rootObjects = 20  // objects of each root module
)

// refreshConfig has n objects, of which one changes with a variable.
const refreshConfig = `terraform {
  required_providers {
    files = {
      source  = "example.com/tofu/files"
      version = "1.0.0"
    }
  }
}
variable "one" {
  default = "content"
}
resource "files_file" "f" {
  count   = %d
  path    = "f${count.index}"
  content = count.index == 7 ? var.one : "content"
}
`

// refreshing measures plans of objects behind a provider whose reads take slowRead, a full refresh
// behind a provider that refuses more than readsLimit reads per second, and drift of root modules with
// rootObjects objects each.
func refreshing(o *options, out io.Writer) error {
	top, err := os.MkdirTemp("", "refreshing")
	if err != nil {
		return err
	}
	defer os.RemoveAll(top)
	r := &refreshBench{o: o, n: o.sizes[len(o.sizes)-1], calls: filepath.Join(top, "calls")}
	if err := r.make(top, "m", fmt.Sprintf(refreshConfig, r.n)); err != nil {
		return err
	}
	if r.ours, err = newBench(o, o.bin, top, o.mirror); err != nil {
		return err
	}
	r.ours.env = append(r.ours.env, "FILES_ROOT="+filepath.Join(top, "root"), "FILES_LOG="+r.calls)
	for _, args := range [][]string{{"init"}, {"apply", "-auto-approve", "-parallelism=50"}} {
		if _, err := r.ours.run(args...); err != nil {
			return err
		}
	}
	for _, part := range []func(io.Writer) error{r.slow, r.limited, r.drift} {
		if err := part(out); err != nil {
			return err
		}
	}
	return nil
}

// refreshBench measures refreshing.
type refreshBench struct {
	o     *options
	n     int
	ours  *bench
	calls string // the log of the provider's calls
}

// make makes a directory with a configuration below top, and one for its files.
func (r *refreshBench) make(top, name, config string) error {
	dir := filepath.Join(top, name)
	for _, path := range []string{dir, filepath.Join(top, "root")} {
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "main.tf"), []byte(config), 0o644)
}

// with returns a bench with more environment variables.
func with(b *bench, env ...string) *bench {
	c := *b
	c.env = append(slices.Clone(b.env), env...)
	return &c
}

// measure runs a command and returns its cost and the number of reads.
func (r *refreshBench) measure(b *bench, args ...string) (cost, int, error) {
	if err := os.WriteFile(r.calls, nil, 0o644); err != nil {
		return cost{}, 0, err
	}
	c, err := b.run(args...)
	if err != nil {
		return cost{}, 0, err
	}
	log, err := os.ReadFile(r.calls)
	return c, bytes.Count(log, []byte("end read ")), err
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) }

// slow measures plans with one change.
func (r *refreshBench) slow(out io.Writer) error {
	fmt.Fprintf(out, "Plans of one change among %d objects, reads of %d ms:\n\n", r.n, slowRead)
	delay := fmt.Sprintf("FILES_DELAY_MS=read:*=%d", slowRead)
	t := &table{}
	t.row("Plan", "reads", "seconds", "peak MB")
	add := func(name string, b *bench, args ...string) error {
		c, reads, err := r.measure(with(b, delay), append([]string{"plan", "-var=one=changed"}, args...)...)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		t.row(name, strconv.Itoa(reads), seconds(c.wall), strconv.FormatInt(c.own.peak>>20, 10))
		return nil
	}
	for _, p := range []struct {
		name string
		args []string
	}{
		{"-refresh=false", []string{"-refresh=false"}},
		{"-minimal-refresh", []string{"-minimal-refresh"}},
		{"-refresh-older-than=24h", []string{"-refresh-older-than=24h"}},
		{"full, -parallelism=10", []string{"-parallelism=10"}},
		{"full", nil},
	} {
		if err := add(p.name, r.ours, p.args...); err != nil {
			return err
		}
	}
	if r.o.ref != "" {
		ref := *r.ours
		ref.program = r.o.ref
		if _, err := ref.run("init"); err != nil {
			return err
		}
		for _, args := range [][]string{{"-refresh=false"}, {"-parallelism=10"}} {
			if err := add("OpenTofu, "+args[0], &ref, args...); err != nil {
				return err
			}
		}
		if _, err := r.ours.run("init"); err != nil {
			return err
		}
	}
	t.print(out)
	return nil
}

// limited measures a full refresh behind a provider that refuses calls.
func (r *refreshBench) limited(out io.Writer) error {
	env := fmt.Sprintf("FILES_THROTTLE=read:*=%d", readsLimit)
	c, reads, err := r.measure(with(r.ours, env), "plan")
	if err != nil {
		return err
	}
	rate := float64(reads) / c.wall.Seconds()
	_, err = fmt.Fprintf(out, "\nA full plan behind a provider that refuses more than %d reads per second: %d reads in %s s, "+
		"%.1f per second (%.0f %%).\n", readsLimit, reads, seconds(c.wall), rate, 100*rate/readsLimit)
	return err
}

// drift measures the drift of many root modules within a rate.
func (r *refreshBench) drift(out io.Writer) error {
	top := filepath.Join(r.ours.dir, "..")
	n, rate := max(1, r.n/rootObjects), 4*readsLimit
	for i := range n {
		config := strings.ReplaceAll(fmt.Sprintf(refreshConfig, rootObjects), `"f${`, fmt.Sprintf(`"r%d-${`, i))
		if err := r.make(top, fmt.Sprintf("estate/r%d", i), config); err != nil {
			return err
		}
	}
	b := *r.ours
	b.dir = filepath.Join(top, "estate")
	for _, args := range [][]string{{"roots", "init"}, {"roots", "apply", "-auto-approve"}} {
		if _, err := b.run(args...); err != nil {
			return err
		}
	}
	c, reads, err := r.measure(&b, "roots", "drift", fmt.Sprintf("-provider-rate=files=%d", rate))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nDrift of %d root modules with %d objects each within %d calls per second: %d reads in %s s, "+
		"%.1f per second.\n", n, rootObjects, rate, reads, seconds(c.wall), float64(reads)/c.wall.Seconds())
	return err
}
