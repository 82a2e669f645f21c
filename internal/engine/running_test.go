package engine_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/engine/enginetest"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// TestRunningOperations counts the operations that run, from the first event of each to the last.
// The count must never exceed the parallelism, and must reach it while enough operations are ready.
// Some provisioner arguments call provider functions; these calls must not wait for another call
// slot.
func TestRunningOperations(t *testing.T) {
	const config = `
terraform {
  required_providers {
    fake = { source = "hashicorp/fake" }
  }
}
data "fake_read" "d" {
  count = 2
  name  = fake_thing.a[count.index].name
}
resource "fake_thing" "a" {
  count = %d
  name  = "a${count.index}"
  provisioner "note" {
    say = provider::fake::echo("made")
  }
  provisioner "note" {
    when = destroy
    say  = provider::fake::echo("gone")
  }
}
ephemeral "fake_token" "t" {
  count = 6
  name  = "t${count.index}"
}
resource "fake_thing" "w" {
  name = "w"
  w    = join("", ephemeral.fake_token.t[*].value)
}
`
	for _, places := range []int{1, 3} {
		t.Run(fmt.Sprint(places), func(t *testing.T) {
			s := enginetest.NewSession(t.TempDir())
			s.Cloud.Delay = 200 * time.Microsecond
			for i, n := range []int{12, 2} { // the second run reads and deletes objects
				cfg, err := s.Load(map[string]string{"main.tf": fmt.Sprintf(config, n)}, nil, tfdiags.Drop)
				if err != nil {
					t.Fatal(err)
				}
				r := &running{}
				env := s.Env()
				env.Parallelism, env.Observe = places, r.observe
				plan, err := engine.Plan(context.Background(), cfg, s.State, env, nil)
				if err != nil {
					t.Fatal(err)
				}
				s.State, err = engine.Apply(context.Background(), cfg, plan, env, nil)
				if err != nil {
					t.Fatal(err)
				}
				if r.now != 0 || r.most != places || r.events == 0 {
					t.Errorf("run %d: at most %d at a time, %d at the end, of %d events", i, r.most, r.now, r.events)
				}
			}
		})
	}
}

// running counts the operations that are running.
type running struct {
	mu                sync.Mutex
	now, most, events int
}

func (r *running) observe(e engine.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch e.(type) {
	case engine.RefreshStart, engine.ApplyStart, engine.EphemeralStart, engine.ImportStart:
		r.now++
	case engine.RefreshDone, engine.ApplyDone, engine.EphemeralDone, engine.ImportDone:
		r.now--
	default:
		return
	}
	r.events++
	r.most = max(r.most, r.now)
}

// TestNothingStartsAfterStop checks that operations that wait for a call slot don't start after the
// run is interrupted.
func TestNothingStartsAfterStop(t *testing.T) {
	const config = "resource \"fake_thing\" \"a\" {\n  count = 12\n  name  = \"a${count.index}\"\n}\n"
	for _, files := range []map[string]string{{"main.tf": config}, nil} {
		s := enginetest.NewSession(t.TempDir())
		load := func(files map[string]string) *configs.Config {
			cfg, err := s.Load(files, nil, tfdiags.Drop)
			if err != nil {
				t.Fatal(err)
			}
			return cfg
		}
		kind, call := "create", "create a%d"
		if files == nil { // destroy the objects that the previous run created
			kind, call = "delete", "delete a%d-1"
			if _, err := s.Do(&enginetest.Step{Files: map[string]string{"main.tf": config}}); err != nil {
				t.Fatal(err)
			}
		}
		cfg, env, r := load(files), s.Env(), &running{}
		plan, err := engine.Plan(t.Context(), cfg, s.State, env, nil)
		if err != nil {
			t.Fatal(err)
		}
		stop := make(chan struct{})
		interrupt := sync.OnceFunc(func() {
			close(stop)
			time.Sleep(50 * time.Millisecond) // give the walk time to halt
		})
		s.Cloud.On = map[string]func(){}
		for i := range 12 {
			s.Cloud.On[fmt.Sprintf(call, i)] = interrupt
		}
		env.Parallelism, env.Stop, env.Observe = 1, stop, r.observe
		_, err = engine.Apply(t.Context(), cfg, plan, env, nil)
		if err == nil || r.events != 2 {
			t.Errorf("%s: %d events: %v", kind, r.events, err)
		}
		if found := tfdiags.FromError(err); len(found) != 1 || found[0].Summary != "Operation interrupted" {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestReadsEndAtStop checks that an interrupt cancels the reads of a plan that run, starts none of
// those that wait for a call slot, and is the only error.
func TestReadsEndAtStop(t *testing.T) {
	const things = "resource \"fake_thing\" \"a\" {\n  count = 12\n  name  = \"a${count.index}\"\n}\n"
	const data = "data \"fake_read\" \"d\" {\n  count = 12\n  name  = \"a${count.index}\"\n}\n"
	const check = "check \"c\" {\n  data \"fake_read\" \"d\" {\n    name = \"a0\"\n  }\n" +
		"  assert {\n    condition     = data.fake_read.d.id != \"\"\n    error_message = \"No.\"\n  }\n}\n"
	const imports = "import {\n  for_each = range(12)\n  to       = fake_thing.i[each.key]\n" +
		"  id       = \"a${each.key}-1\"\n}\n" +
		"resource \"fake_thing\" \"i\" {\n  count = 12\n  name  = \"a${count.index}\"\n}\n"
	for _, test := range []struct {
		config string
		mode   plans.Mode
	}{
		{things, plans.Normal}, {things, plans.RefreshOnly}, {things, plans.Destroy}, {"", plans.Normal},
		{data, plans.Normal}, {check, plans.Normal}, {imports, plans.Normal},
	} {
		dir := t.TempDir()
		synctest.Test(t, func(t *testing.T) {
			s := enginetest.NewSession(dir)
			if _, err := s.Do(&enginetest.Step{Files: map[string]string{"main.tf": things}}); err != nil {
				t.Fatal(err)
			}
			if test.config == imports {
				s.State = states.New()
			}
			cfg, err := s.Load(map[string]string{"main.tf": test.config}, nil, tfdiags.Drop)
			if err != nil {
				t.Fatal(err)
			}
			var reads atomic.Int32
			stop, env := make(chan struct{}), s.Env()
			env.Stop, env.Parallelism = stop, 3
			env.Observe = func(e engine.Event) {
				switch e := e.(type) {
				case engine.RefreshStart, engine.ImportStart:
					reads.Add(1)
				case engine.ApplyStart:
					if e.Action == plans.Read {
						reads.Add(1)
					}
				case engine.Failure:
					t.Errorf("reported: %v", e.Err)
				}
			}
			s.Cloud.Delay = time.Hour // the providers are configured at the same time
			start := time.Now()
			time.AfterFunc(90*time.Minute, func() { close(stop) })
			_, err = engine.Plan(t.Context(), cfg, s.State, env, &engine.PlanOptions{Mode: test.mode})
			took := time.Since(start)
			if found := tfdiags.FromError(err); len(found) != 1 || found[0].Summary != "Operation interrupted" {
				t.Errorf("%s %d: %v", test.config, test.mode, err)
			}
			if test.config != imports && (took != 90*time.Minute || reads.Load() != 3) {
				t.Errorf("%s %d: %d reads started; the plan took %s", test.config, test.mode, reads.Load(), took)
			}
		})
	}
}

// TestContextIsReleased checks that an operation leaves nothing in the context of its caller, which
// may outlive many operations.
func TestContextIsReleased(t *testing.T) {
	s := enginetest.NewSession(t.TempDir())
	const config = "resource \"fake_thing\" \"a\" {\n  name = \"a\"\n}\n"
	cfg, err := s.Load(map[string]string{"main.tf": config}, nil, tfdiags.Drop)
	if err != nil {
		t.Fatal(err)
	}
	ctx := &countingContext{Context: context.Background(), done: make(chan struct{})}
	plan, err := engine.Plan(ctx, cfg, s.State, s.Env(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Apply(ctx, cfg, plan, s.Env(), nil); err != nil {
		t.Fatal(err)
	}
	if ctx.all.Load() == 0 || ctx.left.Load() != 0 {
		t.Errorf("%d of %d registrations are left", ctx.left.Load(), ctx.all.Load())
	}
}

// countingContext counts the functions that are registered to run when the context ends.
type countingContext struct {
	context.Context
	done      chan struct{}
	all, left atomic.Int32
}

func (c *countingContext) Done() <-chan struct{} { return c.done }

// AfterFunc is called by package context for contexts that are derived from this one.
func (c *countingContext) AfterFunc(func()) (stop func() bool) {
	c.all.Add(1)
	c.left.Add(1)
	return func() bool {
		c.left.Add(-1)
		return true
	}
}
