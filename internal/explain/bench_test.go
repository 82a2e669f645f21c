package explain_test

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
)

// limit is the maximum time for explaining an address in a plan with a hundred thousand instances.
const limit = 2 * time.Second

// BenchmarkExplain shows that the cost of an answer is linear in the number of instances, blocks
// and references in the plan. It uses two configurations: one block with many instances, and many
// blocks that each refer to the block before them.
func BenchmarkExplain(b *testing.B) {
	for _, shape := range []struct {
		name   string
		sizes  []int
		config func(n int) string
		// addresses returns the addresses that are explained one after another.
		addresses func(n int) []string
	}{
		{"instances", []int{1000, 10_000, 100_000}, instances, func(n int) []string {
			return []string{fmt.Sprintf("fake_thing.many[%d]", n/2), "fake_thing.one", "fake_thing.many", "var.x",
				"local.l"}
		}},
		{"blocks", []int{1000, 10_000}, blocks, func(n int) []string {
			return []string{fmt.Sprintf("fake_thing.b%d", n/2), "fake_thing.b0", "var.x", fmt.Sprintf("fake_thing.b%d", n-1)}
		}},
	} {
		for _, n := range shape.sizes {
			b.Run(shape.name+"/"+strconv.Itoa(n), func(b *testing.B) {
				s := plannedSubject(b, enginetest.NewSession(b.TempDir()),
					map[string]string{"main.tf": shape.config(n)}, &engine.PlanOptions{})
				addresses := shape.addresses(n)
				for b.Loop() {
					for _, address := range addresses {
						answer, err := ask(b.Context(), s, address)
						if err == nil && !answer.InPlan {
							err = fmt.Errorf("%s is not in the plan", address)
						}
						if err == nil {
							err = answer.WriteText(io.Discard, 80)
						}
						if err != nil {
							b.Fatal(err)
						}
					}
				}
				took := b.Elapsed() / time.Duration(b.N*len(addresses))
				b.ReportMetric(float64(took.Nanoseconds())/float64(n), "ns/instance")
				if took > limit {
					b.Errorf("an answer takes %s", took)
				}
			})
		}
	}
}

const values = "variable \"x\" {\n  default = \"x\"\n}\nlocals {\n  l = \"l-${var.x}\"\n}\n"

// instances returns a configuration with a block that has n instances, and a block that refers to
// all of them.
func instances(n int) string {
	return values + fmt.Sprintf(`
resource "fake_thing" "many" {
  count = %d
  name  = "many${count.index}"
  v     = local.l
}
resource "fake_thing" "one" {
  name = "one"
  v    = length(fake_thing.many[*].id)
}
`, n)
}

// blocks returns a configuration with a chain of n blocks, all of which also refer to a local
// value.
func blocks(n int) string {
	var b strings.Builder
	b.WriteString(values)
	before := "local.l"
	for i := range n {
		fmt.Fprintf(&b, "resource \"fake_thing\" \"b%d\" {\n  name = \"b%d\"\n  v    = \"${%s}${local.l}\"\n}\n", i, i, before)
		before = fmt.Sprintf("fake_thing.b%d.id", i)
	}
	return b.String()
}
