package checks

import (
	"fmt"
	"slices"
	"testing"
)

// TestSummaries checks that a block has the worst status of its objects. Before evaluation, its
// status is Unknown. Without objects, it is Pass.
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

// TestOrder checks that blocks are listed by kind and address and their objects by address, in the
// same order as in state files.
func TestOrder(t *testing.T) {
	var results Results
	results.Declare(KindVariable, "var.size")
	b := results.Declare(KindResource, "lab_object.b")
	b.Set("lab_object.b[1]", Fail, []string{"Too small."})
	b.Set("lab_object.b[0]", Pass, nil)
	results.Declare(KindResource, "lab_object.a")
	results.Declare(KindCheck, "check.health")
	var got []string
	for _, block := range results.Sorted() {
		got = append(got, fmt.Sprintf("%s %s %s", block.Kind, block.Config, block.Status))
		for _, o := range block.SortedObjects() {
			got = append(got, fmt.Sprintf("  %s %s %q", o.Addr, o.Status, o.Messages))
		}
	}
	want := []string{"check check.health unknown", "resource lab_object.a unknown", "resource lab_object.b fail",
		`  lab_object.b[0] pass []`, `  lab_object.b[1] fail ["Too small."]`, "var var.size unknown"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// TestLookup checks that blocks and objects that were not declared are not found, even in nil
// results, and that equal addresses of different kinds are different blocks.
func TestLookup(t *testing.T) {
	var results Results
	results.Declare(KindOutput, "output.id").Set("output.id", Error, nil)
	for _, test := range []struct {
		in            *Results
		kind          Kind
		config, addr  string
		block, object bool
	}{
		{nil, KindOutput, "output.id", "output.id", false, false},
		{new(Results), KindOutput, "output.id", "output.id", false, false},
		{&results, KindOutput, "output.id", "output.id", true, true},
		{&results, KindOutput, "output.id", "module.m[0].output.id", true, false},
		{&results, KindVariable, "output.id", "output.id", false, false},
	} {
		block, object := test.in.Block(test.kind, test.config), test.in.Object(test.kind, test.config, test.addr)
		if (block != nil) != test.block || (object != nil) != test.object {
			t.Errorf("%s %s %s: found %v and %v", test.kind, test.config, test.addr, block, object)
		}
		if object != nil && object.Status != Error {
			t.Errorf("the status of %s is %s", test.addr, object.Status)
		}
	}
	if list := (*Results)(nil).Sorted(); len(list) > 0 {
		t.Errorf("no results have the blocks %v", list)
	}
}
