package ui

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
	"tofu/internal/ui/planview"
)

// story sends the events of a run to a printer.
func story(p Printer) {
	server := engine.Object{Addr: instance("cloud_server.web")}
	keyed := engine.Object{Addr: instance(`module.m["a"].cloud_server.web[1]`), IDKey: "id", IDValue: "i-1"}
	deposed := engine.Object{Addr: instance("cloud_server.web"), Deposed: "0123abcd", IDKey: "id", IDValue: "i-0"}
	data := engine.Object{Addr: instance("data.cloud_image.base")}
	token := engine.Object{Addr: instance("ephemeral.cloud_token.t")}
	long := engine.Object{Addr: instance("cloud_server.long"), IDKey: "arn", IDValue: strings.Repeat("0123456789", 9)}
	made := server
	made.IDKey, made.IDValue = "id", "i-2"

	for _, e := range []engine.Event{
		engine.RefreshStart{Object: keyed}, engine.RefreshDone{Object: keyed},
		engine.ImportStart{Object: server, ID: "i-9"}, engine.ImportDone{Object: server, ID: "i-9"},
		engine.EphemeralStart{Object: token, Verb: "open"}, engine.EphemeralDone{Object: token, Verb: "open"},
		engine.EphemeralStart{Object: token, Verb: "close"},
		engine.EphemeralDone{Object: token, Verb: "close", Failed: true},
		engine.ApplyStart{Object: data, Action: plans.Read},
		engine.ApplyDone{Object: data, Action: plans.Read, Elapsed: 400 * time.Millisecond},
		engine.ApplyStart{Object: server, Action: plans.Create},
		engine.ProvisionStart{Object: server, Type: "local-exec"},
		engine.ProvisionOutput{Object: server, Type: "local-exec", Line: "one\r\n\ntwo \x1b[2J"},
		engine.ProvisionDone{Object: server, Type: "local-exec"},
		engine.ProvisionDone{Object: server, Type: "local-exec", Failed: true},
		engine.ApplyDone{Object: made, Action: plans.Create, Elapsed: 65 * time.Second},
		engine.ApplyStart{Object: keyed, Action: plans.Update},
		engine.ApplyDone{Object: keyed, Action: plans.Update, Failed: true},
		engine.ApplyStart{Object: deposed, Action: plans.Delete},
		engine.ApplyDone{Object: deposed, Action: plans.Delete, Elapsed: 2 * time.Second},
		engine.ApplyStart{Object: long, Action: plans.Delete}, engine.ApplyDone{Object: long, Action: plans.Delete},
		engine.Planned{}, engine.ObjectStored{},
	} {
		p.Event(e)
	}
	p.Diagnostics(tfdiags.Diagnostics{tfdiags.Errorf("Too bad", "It didn't work."), tfdiags.Warningf("Beware",
		"It may not work.")})
	p.Message(Text{"Some \x1b[1mtext\x1b[0m."})
	p.Message(Applied{Counts: planview.Counts{Add: 1, Change: 2, Remove: 3}})
	p.Message(Applied{Counts: planview.Counts{Import: 1, Forget: 2}})
	p.Message(Applied{Counts: planview.Counts{Remove: 3}, Destroy: true})
	p.Message(Outputs{map[string]*states.Output{
		"o": {Value: cty.ObjectVal(map[string]cty.Value{"a": cty.StringVal("<b>")}), Deprecated: "use p"},
		"s": {Value: cty.StringVal("hush"), Sensitive: true},
	}})
	testStory(p)
}

func testStory(p Printer) {
	bad := tfdiags.Errorf("Test assertion failed", "No.").List()
	p.Message(TestAbstract{map[string][]string{"a.tftest.hcl": {"one", "two"}, "b.tftest.hcl": nil}})
	p.Message(TestFile{Path: "a.tftest.hcl", Status: TestFail})
	p.Message(TestRun{Path: "a.tftest.hcl", Run: "one", Status: TestPass})
	p.Message(TestRun{Path: "a.tftest.hcl", Run: "two", Status: TestError, Diagnostics: bad})
	p.Message(TestFile{Path: "b.tftest.hcl", Status: TestSkip, Diagnostics: bad})
	p.Message(TestCleanup{Path: "a.tftest.hcl", Run: "one", Diagnostics: bad,
		Left:      []TestLeft{{Instance: "a.b"}, {Instance: "a.c", DeposedKey: "0123abcd"}},
		StateFile: "errored_test.tfstate"})
	p.Message(TestInterrupt{Path: "a.tftest.hcl", Run: "one", Left: []TestLeft{{Instance: "a.b"}}})
	p.Message(TestSummary{Status: TestError, Passed: 1, Errored: 1, Skipped: 1})
	p.Message(TestSummary{Status: TestPass, Passed: 3})
}

func instance(text string) addrs.AbsInstance {
	addr, err := addrs.ParseInstanceText(text)
	if err != nil {
		panic(err)
	}
	return addr
}

func TestPrinters(t *testing.T) {
	golden(t, "printer", func(t *testing.T, _ map[string]string) map[string]string {
		now := func() time.Time { return time.Date(2030, 1, 2, 3, 4, 5, 6000, time.UTC) }
		got := make(map[string]string)
		show := func(name string, run func(Printer), newPrinter func(Options) Printer, o Options) {
			var out, errs bytes.Buffer
			o.Out, o.Err, o.Now, o.Version = &out, &errs, now, "1.12.6"
			run(newPrinter(o))
			got[name] = out.String()
			if strings.Contains(out.String(), "hush") {
				t.Errorf("%s shows a secret", name)
			}
			if errs.Len() > 0 {
				got[name] += "--- on the error stream:\n" + errs.String()
			}
		}
		show("human", story, NewHuman, Options{})
		show("concise", story, NewHuman, Options{Concise: true})
		show("json", story, NewJSON, Options{})
		return got
	})
}

func TestTeeTellsAll(t *testing.T) {
	var a, b bytes.Buffer
	p := Tee(NewHuman(Options{Out: &a}), NewHuman(Options{Out: &b}))
	story(p)
	p.Plan(&PlanView{Plan: &plans.Plan{Changes: &plans.Changes{}}})
	if err := p.State(&StateView{}); err != nil {
		t.Error(err)
	}
	if a.Len() == 0 || a.String() != b.String() {
		t.Errorf("one printed %d bytes, the other %d", a.Len(), b.Len())
	}
}

func TestTally(t *testing.T) {
	changes := &plans.Changes{}
	changes.Instances = append(changes.Instances, &plans.InstanceChange{Addr: instance("a.b"), Action: plans.Forget})
	changes.Instances = append(changes.Instances, &plans.InstanceChange{Addr: instance("a.c"), Action: plans.Update,
		Importing: &plans.Importing{ID: "x"}})
	changes.Instances = append(changes.Instances, &plans.InstanceChange{Addr: instance("a.d"), Action: plans.ForgetThenCreate})
	var tally Tally
	tally.Expect(&plans.Plan{Changes: changes})
	for _, a := range []plans.Action{plans.Create, plans.Create, plans.Update, plans.Delete, plans.Read} {
		tally.Observe(engine.ApplyDone{Action: a})
	}
	tally.Observe(engine.ApplyDone{Action: plans.Delete, Failed: true})
	tally.Observe(engine.ApplyStart{Action: plans.Delete})
	if got, want := tally.Counts(), (planview.Counts{Import: 1, Add: 2, Change: 1, Remove: 1, Forget: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestTallyOfParts checks that replacements are counted when both of their steps are done, and objects that
// exist although their creation failed.
func TestTallyOfParts(t *testing.T) {
	changes := &plans.Changes{}
	for _, name := range []string{"a.first", "a.last", "a.half"} {
		changes.Instances = append(changes.Instances, &plans.InstanceChange{Addr: instance(name), Action: plans.DeleteThenCreate})
	}
	var tally Tally
	tally.Expect(&plans.Plan{Changes: changes})
	step := func(name string, action plans.Action, stored, failed bool) {
		o := engine.Object{Addr: instance(name)}
		tally.Observe(engine.ApplyStart{Object: o, Action: action})
		if stored {
			tally.Observe(engine.ObjectStored{Addr: o.Addr, New: &states.Object{}})
		}
		tally.Observe(engine.ApplyDone{Object: o, Action: action, Failed: failed})
	}
	step("a.first", plans.Delete, false, false)
	step("a.first", plans.Create, true, false)
	step("a.last", plans.Create, true, false)
	step("a.last", plans.Delete, false, false)
	step("a.half", plans.Delete, false, false)
	step("a.half", plans.Create, false, true) // nothing was created
	step("a.new", plans.Create, true, true)
	step("a.none", plans.Create, false, true)
	step("a.changed", plans.Update, true, true) // an update that failed doesn't count
	if got, want := tally.Counts(), (planview.Counts{Add: 3, Remove: 3, Replace: 2, Tainted: 1}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestStillGoingOn(t *testing.T) {
	var b bytes.Buffer
	h := NewHuman(Options{Out: &b}).(*human)
	o := engine.Object{Addr: instance("a.b")}
	h.still(engine.ApplyStart{Object: o, Action: plans.Create}, 10*time.Second)
	o.IDKey, o.IDValue = "id", "x"
	h.still(engine.ApplyStart{Object: o, Action: plans.Delete}, 80*time.Second)
	want := "a.b: Still creating... [10s elapsed]\na.b: Still destroying... [id=x, 1m20s elapsed]\n"
	if b.String() != want {
		t.Errorf("got %q, want %q", b.String(), want)
	}
	b.Reset()
	j := NewJSON(Options{Out: &b}).(*jsonPrinter)
	j.still(engine.ApplyStart{Object: o, Action: plans.Delete}, 80*time.Second)
	for _, part := range []string{`"type":"apply_progress"`, `"addr":"a.b"`, `"action":"delete"`,
		`"elapsed_seconds":80`, `"@message":"a.b: Still destroying... [1m20s elapsed]"`} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%s lacks %s", b.String(), part)
		}
	}
}

// TestHeartbeats checks that a long-running step is reported again at every interval until it
// ends.
func TestHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var b bytes.Buffer
		j := NewJSON(Options{Out: &b})
		o := engine.Object{Addr: instance("a.b")}
		j.Event(engine.ApplyStart{Object: o, Action: plans.Create})
		time.Sleep(45 * time.Second)
		j.Event(engine.ApplyDone{Object: o, Action: plans.Create})
		time.Sleep(time.Minute)
		synctest.Wait()
		got := regexp.MustCompile(`"type":"apply_(progress|complete)"|"elapsed_seconds":\d+`).FindAllString(
			b.String(), -1)
		want := []string{
			`"elapsed_seconds":10`, `"type":"apply_progress"`, `"elapsed_seconds":20`, `"type":"apply_progress"`,
			`"elapsed_seconds":30`, `"type":"apply_progress"`, `"elapsed_seconds":40`, `"type":"apply_progress"`,
			`"elapsed_seconds":0`, `"type":"apply_complete"`,
		}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q, in\n%s", got, want, b.String())
		}
	})
}
