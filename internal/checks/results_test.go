package checks

import "testing"

// TestSummaries checks that a block has the worst status of its objects, is unknown before
// evaluation, and passes without objects.
func TestSummaries(t *testing.T) {
	var results Results
	block := results.Declare(KindResource, "lab_object.a")
	if block.Status != Unknown || results.Declare(KindResource, "lab_object.a") != block {
		t.Errorf("declared block: status %s; want it declared once", block.Status)
	}
	block.Summarize()
	if block.Status != Pass {
		t.Errorf("block without objects: status %s", block.Status)
	}
	for _, step := range []struct {
		addr         string
		status, want Status
	}{
		{"lab_object.a[0]", Pass, Pass}, {"lab_object.a[1]", Unknown, Unknown}, {"lab_object.a[2]", Fail, Fail},
		{"lab_object.a[3]", Error, Error},
		{"lab_object.a[3]", Pass, Fail}, {"lab_object.a[2]", Pass, Unknown}, {"lab_object.a[1]", Pass, Pass},
	} {
		block.Set(step.addr, step.status, nil)
		if block.Status != step.want {
			t.Errorf("after %s %s: block status %s, want %s", step.addr, step.status, block.Status, step.want)
		}
	}
}

func TestStatusWords(t *testing.T) {
	for word, want := range map[string]Status{"pass": Pass, "fail": Fail, "error": Error, "unknown": Unknown,
		"later": Unknown, "": Unknown} {
		if got := ParseStatus(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}
