package fleet

import "testing"

func TestPulse(t *testing.T) {
	p := &pulse{what: "Planning root modules", total: 4}
	ends := make(map[string]func())
	for _, step := range []struct{ begin, end, want string }{
		{"", "", "Planning root modules: 0 of 4 done."},
		{"a", "", "Planning root modules: 0 of 4 done, a is still running."},
		{"b", "", "Planning root modules: 0 of 4 done, a and 1 more are still running."},
		{"c", "a", "Planning root modules: 1 of 4 done, b and 1 more are still running."},
		{"", "c", "Planning root modules: 2 of 4 done, b is still running."},
		{"", "b", "Planning root modules: 3 of 4 done."},
	} {
		if step.begin != "" {
			ends[step.begin] = p.visit(step.begin)
		}
		if step.end != "" {
			ends[step.end]()
		}
		if got := p.line(); got != step.want {
			t.Errorf("got %s, want %s", got, step.want)
		}
	}
}
