package repeat

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"tofu/internal/pace"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// lossy is a provider whose reads take a time that depends on their number, which begins with 0.
type lossy struct {
	providers.Interface
	takes func(call int) time.Duration
	fails func(call int) bool
	calls atomic.Int32
}

func (l *lossy) ReadResource(context.Context, providers.ReadRequest) (resp providers.ReadResponse) {
	call := int(l.calls.Add(1)) - 1
	time.Sleep(l.takes(call))
	if l.fails != nil && l.fails(call) {
		resp.Diagnostics = tfdiags.Errorf("The service failed", "It is broken.").List()
	}
	return resp
}

func TestLateAnswers(t *testing.T) {
	const usual, lost = 200 * time.Millisecond, 2200 * time.Millisecond
	loses := func(numbers ...int) func(int) time.Duration {
		return func(call int) time.Duration {
			for _, n := range numbers {
				if n == call {
					return lost
				}
			}
			return usual
		}
	}
	for name, test := range map[string]struct {
		limits pace.Limits
		takes  func(int) time.Duration
		fails  func(int) bool
		calls  [2]int        // the least and the most
		most   time.Duration // the reads take longer than half of this
	}{
		"none":          {takes: loses(), calls: [2]int{100, 100}, most: 1500 * time.Millisecond},
		"the last":      {takes: loses(99), calls: [2]int{101, 101}, most: 2 * time.Second},
		"both are lost": {takes: loses(60, 100), calls: [2]int{101, 101}, most: 3 * time.Second},
		"the second fails": {takes: loses(99), fails: func(call int) bool { return call == 100 }, calls: [2]int{101, 101},
			most: 4 * time.Second},
		"too early to know": {takes: loses(3), calls: [2]int{100, 100}, most: 3 * time.Second},
		"all become slow": {takes: func(call int) time.Duration {
			if call < 20 {
				return usual
			}
			return lost
		}, calls: [2]int{100, 105}, most: 20 * time.Second},
		"one at a time": {limits: pace.Limits{Calls: 1}, takes: loses(99), calls: [2]int{100, 100}, most: 23 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				slots, l := pace.New(test.limits), &lossy{takes: test.takes, fails: test.fails}
				p := Provider(l, "example.com/tofu/lossy", slots, nil, nil)
				began := time.Now()
				var group sync.WaitGroup
				for range 100 {
					slot := slots.Acquire("example.com/tofu/lossy", pace.Read, nil)
					group.Go(func() {
						defer slot.Release()
						resp := p.ReadResource(t.Context(), providers.ReadRequest{Type: "x"})
						if resp.Diagnostics.HasErrors() {
							t.Error(resp.Diagnostics.Err())
						}
					})
				}
				group.Wait()
				took := time.Since(began)
				time.Sleep(2 * lost) // until calls whose answers nothing waits for have ended
				if n := int(l.calls.Load()); n < test.calls[0] || n > test.calls[1] || took > test.most || took < test.most/2 {
					t.Errorf("%d calls in %s, want %v in at most %s", n, took, test.calls, test.most)
				}
			})
		})
	}
}

// TestPanicWhileWaiting checks that a read that panics does so in the goroutine of its caller, which recovers.
func TestPanicWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &lossy{takes: func(call int) time.Duration {
			if call == 99 {
				panic("broken")
			}
			return 200 * time.Millisecond
		}}
		slots := pace.New(pace.Limits{})
		p := Provider(l, "example.com/tofu/lossy", slots, nil, nil)
		read := func() (problem any) {
			defer func() { problem = recover() }()
			p.ReadResource(t.Context(), providers.ReadRequest{Type: "x"})
			return nil
		}
		for n := range 100 {
			slot := slots.Acquire("example.com/tofu/lossy", pace.Read, nil)
			problem := read()
			slot.Release()
			crash, ok := problem.(tfdiags.Crash)
			if n < 99 && problem != nil || n == 99 && (!ok || crash.Problem != "broken") {
				t.Errorf("call %d: %v", n, problem)
			}
		}
	})
}
