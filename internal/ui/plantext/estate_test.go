package plantext

import (
	"bufio"
	"fmt"
	"strings"
	"testing"

	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
)

// TestRoots checks the table of root modules at several widths: every line fits a terminal, and without one
// names are whole.
func TestRoots(t *testing.T) {
	long := "live/a-very-long-name-of-a-region/" + strings.Repeat("network-", 6) + "end"
	roots := []planview.Root{
		{Name: "new", Counts: planview.Counts{Add: 7, Deferred: 2}, Note: "it waits for deferred changes of " + long},
		{Name: long, Counts: planview.Counts{Add: 1, Remove: 3, Replace: 1, Forget: 1}},
		{Name: "calm", Unchanged: true},
		{Name: "checked", Counts: planview.Counts{Checks: 12}},
		{Name: "changed", Counts: planview.Counts{Change: 10, Import: 1}},
	}
	for _, width := range []int{0, 40, 80, 160} {
		var out strings.Builder
		s := &Screen{Out: bufio.NewWriter(&out), Width: max(width, 78), Terminal: width > 0}
		if width > 0 {
			s.Width = width
		}
		Roots(s, roots)
		_ = s.Out.Flush()
		lines := strings.Split(strings.Trim(out.String(), "\n"), "\n")
		for _, line := range lines {
			if width > 0 && termtext.Width(line) > width {
				t.Errorf("at %d columns: %q is too long", width, line)
			}
		}
		if width == 0 && !strings.Contains(out.String(), "\n"+long+"  ") || width == 160 && !strings.Contains(out.String(), long) {
			t.Errorf("at %d columns the name is cut:\n%s", width, &out)
		}
		var order []string
		for _, line := range lines[1:] {
			if name, _, _ := strings.Cut(line, " "); name != "" {
				order = append(order, name[:min(len(name), 3)])
			}
		}
		if got, want := fmt.Sprint(order), "[liv cha che new No]"; !strings.HasPrefix(got, want[:16]) {
			t.Errorf("at %d columns the order is %s", width, got)
		}
		// Of three destroyed objects one is replaced, and the replaced one isn't added.
		if fields := strings.Fields(lines[1]); fmt.Sprint(fields[1:]) != "[2 1 1]" {
			t.Errorf("at %d columns the numbers are %q", width, fields)
		}
		if !strings.HasSuffix(strings.TrimSpace(out.String()), "No changes: 1 root module.") {
			t.Errorf("at %d columns:\n%s", width, &out)
		}
	}
}
