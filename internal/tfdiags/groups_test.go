package tfdiags

import (
	"fmt"
	"testing"

	"github.com/hashicorp/hcl/v2"
)

func TestGroups(t *testing.T) {
	at := func(line int) hcl.Range { return hcl.Range{Filename: "x.tf", Start: hcl.Pos{Line: line}} }
	for n, want := range []string{
		1: "0 is wrong.",
		2: "0 is wrong. The same goes for 1.",
		3: "0 is wrong. The same goes for 1 and 2.",
		4: "0 is wrong. The same goes for 1, 2 and 3.",
		5: "0 is wrong. The same goes for 1, 2, 3 and 1 other.",
		9: "0 is wrong. The same goes for 1, 2, 3 and 5 others.",
	} {
		if want == "" {
			continue
		}
		var g Groups
		for i := range n {
			for range 2 { // the second time, nothing is new
				g.Add(Errorf("Wrong", "%d is wrong.", i).At(at(1)), fmt.Sprint(i))
			}
		}
		g.Add(Errorf("Wrong", "Another block.").At(at(2)), "0")
		g.Add(Errorf("Bad", "Another problem.").At(at(1)), "0")
		g.Add(Errorf("Wrong", "No place."), "0")
		g.Add(Errorf("Wrong", "No place, again."), "0")
		for range 2 { // Err changes nothing
			got := FromError(g.Err())
			if len(got) != 5 || got[0].Detail != want || got[1].Detail != "Another block." {
				t.Errorf("%d: %v", n, got)
			}
		}
	}
	if err := new(Groups).Err(); err != nil {
		t.Error(err)
	}
}
