package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// waits measures how much time an apply loses by waiting. The configuration has three resources
// with 50 instances each; b[i] refers to a[i], and c[i] refers to b[i]. Creating an instance takes
// between 0.2 and 2 seconds, during which a provisioner sleeps. Any apply takes at least as long as
// the longest chain a[i], b[i], c[i], and at least the sum of all times divided by the parallelism.
func waits(o *options, out io.Writer) error {
	const instances, seed = 50, 22
	random := rand.New(rand.NewPCG(seed, seed))
	names := []string{"a", "b", "c"}
	times := make(map[string][]time.Duration)
	var sum, longest time.Duration
	chains := make([]time.Duration, instances)
	for _, name := range names {
		for i := range instances {
			d := time.Duration(200+random.IntN(1801)) * time.Millisecond
			times[name] = append(times[name], d)
			chains[i] += d
			longest, sum = max(longest, chains[i]), sum+d
		}
	}
	fmt.Fprintf(out, "\n%d instances each of a, b and c; b[i] refers to a[i], c[i] to b[i]; 0.2 to 2 s each\n\n",
		instances)
	t := &table{rows: [][]string{{"parallelism", "program", "apply s", "limit s", "apply / limit"}}}
	programs := []string{o.bin}
	if o.ref != "" {
		programs = append(programs, o.ref)
	}
	for _, parallelism := range []int{10, 50} {
		limit := max(longest, sum/time.Duration(parallelism))
		for _, program := range programs {
			wall, err := o.applyWaits(program, waitingModule(names, times), parallelism)
			if err != nil {
				return err
			}
			name := "this one"
			if program != o.bin {
				name = "the other"
			}
			t.row(strconv.Itoa(parallelism), name, fmt.Sprintf("%.1f", wall.Seconds()),
				fmt.Sprintf("%.1f", limit.Seconds()), fmt.Sprintf("%.2f", wall.Seconds()/limit.Seconds()))
		}
	}
	t.print(out)
	return nil
}

// waitingModule returns a configuration with the named resources. Each instance refers to the
// instance with the same index in the previous resource.
func waitingModule(names []string, times map[string][]time.Duration) string {
	var text strings.Builder
	for n, name := range names {
		seconds := make([]string, len(times[name]))
		for i, d := range times[name] {
			seconds[i] = fmt.Sprintf("%.3f", d.Seconds())
		}
		input := "count.index"
		if n > 0 {
			input = fmt.Sprintf("terraform_data.%s[count.index].output", names[n-1])
		}
		fmt.Fprintf(&text, `locals {
  %[1]s = [%[2]s]
}

resource "terraform_data" %[1]q {
  count = %[3]d
  input = %[4]s
  provisioner "local-exec" {
    command = "sleep ${local.%[1]s[count.index]}"
  }
}
`, name, strings.Join(seconds, ", "), len(seconds), input)
	}
	return text.String()
}

// applyWaits returns the wall time of applying a configuration with a program.
func (o *options) applyWaits(program, config string, parallelism int) (time.Duration, error) {
	top, err := os.MkdirTemp("", "bench")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(top)
	if err := os.Mkdir(filepath.Join(top, "m"), 0o755); err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(top, "m", "main.tf"), []byte(config), 0o644); err != nil {
		return 0, err
	}
	b, err := newBench(o, program, top, "")
	if err == nil {
		_, err = b.run("init")
	}
	if err != nil {
		return 0, err
	}
	c, err := b.run("apply", "-auto-approve", "-parallelism="+strconv.Itoa(parallelism))
	return c.wall, err
}
