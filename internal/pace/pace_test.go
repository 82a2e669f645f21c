package pace

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"tofu/internal/addrs"
)

func Example() {
	var limits Limits
	if err := limits.ParseCalls("aws=20,hashicorp/dns=4,10"); err != nil {
		fmt.Println(err)
	}
	slots := New(limits)
	slot := slots.Acquire("hashicorp/aws", Read, nil)
	began := time.Now()
	slots.Done("hashicorp/aws", Result{Kind: Read, Type: "aws_vpc", Began: began, Took: time.Since(began)})
	slot.Release()
	fmt.Println(slots.Width(), slots.Changes())
	// Output: 34 34
}

// service is a service behind a provider, in simulated time.
type service struct {
	takes   func(running int) time.Duration // how long a call takes with so many at a time
	refuses func(now time.Time) bool        // whether a call at this time is refused

	mu             sync.Mutex
	running, most  int
	calls, refused int
	began, ended   time.Time
	beginnings     []time.Time
}

func (v *service) call(s *Slots, provider string, kind Kind, again bool) {
	slot := s.Acquire(provider, kind, nil)
	defer slot.Release()
	for {
		began := time.Now()
		v.mu.Lock()
		if v.began.IsZero() {
			v.began = began
		}
		v.calls++
		v.running++
		v.most = max(v.most, v.running)
		v.beginnings = append(v.beginnings, began)
		refused := v.refuses != nil && v.refuses(began)
		took := time.Millisecond
		if !refused {
			took = v.takes(v.running)
		} else {
			v.refused++
		}
		v.mu.Unlock()
		time.Sleep(took)
		v.mu.Lock()
		v.running--
		v.ended = time.Now()
		v.mu.Unlock()
		s.Done(provider, Result{Kind: kind, Type: "thing", Began: began, Took: time.Since(began), Throttled: refused, Failed: refused})
		if !refused || !again {
			return
		}
		time.Sleep(500 * time.Millisecond)
		if err := s.Wait(context.Background(), provider); err != nil {
			panic(err)
		}
	}
}

// run makes n calls, each in a goroutine, and returns when all have ended.
func (v *service) run(wg *sync.WaitGroup, s *Slots, provider string, kind Kind, n int) {
	for range n {
		wg.Go(func() { v.call(s, provider, kind, true) })
	}
}

func constant(d time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return d }
}

// perSecond returns a function that refuses what is more than n calls per second.
func perSecond(n float64) func(time.Time) bool {
	tokens, last := n, time.Time{}
	return func(now time.Time) bool {
		if !last.IsZero() {
			tokens = min(n, tokens+n*now.Sub(last).Seconds())
		}
		last = now
		if tokens < 1 {
			return true
		}
		tokens--
		return false
	}
}

// perWindow returns a function that lets n calls pass in each second since the first one.
func perWindow(n float64) func(time.Time) bool {
	var began time.Time
	passed := 0.0
	return func(now time.Time) bool {
		if now.Sub(began) >= time.Second {
			began, passed = now, 0
		}
		passed++
		return passed > n
	}
}

// TestReadsGrow checks that a slow service gets more reads at a time, and that changes stay at ten.
func TestReadsGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads, writes := &service{takes: constant(200 * time.Millisecond)}, &service{takes: constant(time.Second)}
		s := New(Limits{})
		var wg sync.WaitGroup
		reads.run(&wg, s, "acme/slow", Read, 1000)
		writes.run(&wg, s, "acme/other", Write, 40)
		wg.Wait()
		if took := reads.ended.Sub(reads.began); took > 2*time.Second || reads.most <= 50 || reads.most > mostReads {
			t.Errorf("1,000 reads took %s, at most %d at a time", took, reads.most)
		}
		if writes.most != DefaultCalls {
			t.Errorf("at most %d changes at a time", writes.most)
		}
	})
}

// TestReadsStay checks that quick calls, and those that only get slower, don't get more slots.
func TestReadsStay(t *testing.T) {
	for name, takes := range map[string]func(int) time.Duration{
		"quick":      constant(2 * time.Millisecond),
		"serialized": func(running int) time.Duration { return time.Duration(running) * 30 * time.Millisecond },
	} {
		synctest.Test(t, func(t *testing.T) {
			v, other := &service{takes: takes}, &service{takes: constant(100 * time.Millisecond)}
			s := New(Limits{})
			var wg sync.WaitGroup
			v.run(&wg, s, "acme/v", Read, 500)
			other.run(&wg, s, "acme/other", Read, 20)
			wg.Wait()
			if v.most > 2*DefaultCalls {
				t.Errorf("%s: at most %d at a time", name, v.most)
			}
			if took := other.ended.Sub(other.began); took > 300*time.Millisecond {
				t.Errorf("%s: another provider took %s", name, took)
			}
		})
	}
}

// TestPlainNumber checks that a number alone limits all calls of all providers together.
func TestPlainNumber(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := &service{takes: constant(time.Second)}
		s := New(Limits{Calls: 7})
		var wg sync.WaitGroup
		for _, kind := range []Kind{Read, Write, Local} {
			v.run(&wg, s, "acme/a", kind, 30)
			v.run(&wg, s, "acme/b", kind, 30)
		}
		wg.Wait()
		if v.most != 7 || v.ended.Sub(v.began) != 26*time.Second {
			t.Errorf("at most %d at a time, in %s", v.most, v.ended.Sub(v.began))
		}
	})
}

// TestNumbersOfProviders checks that providers with numbers of their own take no slots from others.
func TestNumbersOfProviders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limits
		if err := l.ParseCalls("aws=20, example.com/acme/cloudflare=4, 3"); err != nil {
			t.Fatal(err)
		}
		s := New(l)
		var wg sync.WaitGroup
		want := map[string]int{"hashicorp/aws": 20, "example.com/acme/cloudflare": 4, "other/cloudflare": 3}
		services := map[string]*service{}
		for provider := range want {
			services[provider] = &service{takes: constant(time.Second)}
			services[provider].run(&wg, s, provider, Write, 60)
			services[provider].run(&wg, s, provider, Read, 60)
		}
		wg.Wait()
		for provider, n := range want {
			if v := services[provider]; v.most != n || v.ended.Sub(v.began) != time.Duration(120/n)*time.Second {
				t.Errorf("%s: at most %d at a time, in %s", provider, v.most, v.ended.Sub(v.began))
			}
		}
	})
}

// TestRate checks that a rate limits calls to the service, wherever they come from, and no others.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limits
		if err := l.ParseRates("acme/a=20"); err != nil {
			t.Fatal(err)
		}
		s := New(l)
		v, local, other := &service{takes: constant(time.Millisecond)}, &service{takes: constant(time.Millisecond)},
			&service{takes: constant(time.Millisecond)}
		var wg sync.WaitGroup
		v.run(&wg, s, "acme/a", Read, 100)
		v.run(&wg, s, "acme/a", Write, 101)
		local.run(&wg, s, "acme/a", Local, 100)
		other.run(&wg, s, "acme/b", Read, 100)
		wg.Wait()
		if took := v.ended.Sub(v.began).Round(100 * time.Millisecond); took != 10*time.Second {
			t.Errorf("201 calls took %s", took)
		}
		for i := 21; i < len(v.beginnings); i++ {
			if v.beginnings[i].Sub(v.beginnings[i-21]) < time.Second {
				t.Fatalf("more than 20 calls in the second after call %d", i-21)
			}
		}
		if local.ended.Sub(local.began) > time.Second || other.ended.Sub(other.began) > time.Second {
			t.Errorf("others took %s and %s", local.ended.Sub(local.began), other.ended.Sub(other.began))
		}
	})
}

// TestRefusals checks that a service that refuses more than some calls per second gets nearly as many,
// however long its calls take.
func TestRefusals(t *testing.T) {
	for _, takes := range []time.Duration{5 * time.Millisecond, 200 * time.Millisecond} {
		for i, most := range []float64{20, 50, 20, 50} {
			synctest.Test(t, func(t *testing.T) {
				const calls = 3000
				v := &service{takes: constant(takes), refuses: perSecond(most)}
				if i > 1 {
					v.refuses = perWindow(most)
				}
				s := New(Limits{})
				var wg sync.WaitGroup
				local := &service{takes: constant(time.Millisecond)}
				for range calls {
					wg.Go(func() { // as an instance is planned
						local.call(s, "acme/a", Local, false)
						v.call(s, "acme/a", Read, true)
						local.call(s, "acme/a", Local, false)
					})
				}
				wg.Wait()
				rate := calls / v.ended.Sub(v.began).Seconds()
				if rate < 0.85*most || v.refused > calls/30 {
					t.Errorf("calls of %s, %g per second: %.1f per second, %d refused", takes, most, rate, v.refused)
				}
				if report := strings.Join(s.Report(), "\n"); !strings.Contains(report, "refused because of too many") {
					t.Errorf("%s", report)
				}
			})
		}
	}
}

// TestHalves checks that a refusal halves the limit once, and that it recovers.
func TestHalves(t *testing.T) {
	s := New(Limits{Of: map[string]int{"a": 16}})
	g := s.gate("x/a")
	g.running = 16
	for range 5 { // they all began at the same time
		s.Done("x/a", Result{Kind: Read, Began: time.Time{}.Add(1), Throttled: true, Failed: true})
	}
	if g.limit != 8 {
		t.Errorf("the limit is %d", g.limit)
	}
	for range 3 {
		g.running = g.limit
		s.Done("x/a", Result{Kind: Read, Began: time.Now(), Throttled: true, Failed: true})
	}
	if g.limit != 1 || g.lowest != 1 {
		t.Errorf("after more refusals, the limit is %d", g.limit)
	}
	for i, was := 0, 1; i < 136; i++ {
		s.Done("x/a", Result{Kind: Read, Began: time.Now(), Took: time.Second})
		if g.limit > was+1 || g.limit > 16 {
			t.Fatalf("the limit grows from %d to %d", was, g.limit)
		}
		was = g.limit
	}
	if g.limit != 16 {
		t.Errorf("in the end, the limit is %d", g.limit)
	}
}

// TestStop checks that no call waits when the walk is halted, and that slots are not lost by it.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Limits{Calls: 2, Rates: map[string]float64{"slow": 0.01}})
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				slot := s.Acquire("x/slow", Read, stop)
				time.Sleep(time.Second)
				slot.Release()
			})
		}
		time.Sleep(10 * time.Second)
		began := time.Now()
		close(stop)
		wg.Wait()
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("stopping took %s", took)
		}
		if s.writes != 0 {
			t.Errorf("%d slots in use", s.writes)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		s := New(Limits{Calls: 1})
		slot := s.Acquire("x/a", Write, nil)
		back := s.Leave("x/a", Write)
		s.Acquire("x/b", Read, nil).Release() // it would wait forever
		back()
		slot.Release()
		if s.writes != 0 || s.gate("x/a").running != 0 || s.Used() < 0 {
			t.Errorf("%d slots in use", s.writes)
		}
	})
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"":                    `"" must be a whole number from 1 to 10000`,
		"-1":                  `"-1" must be`,
		"1.5":                 `"1.5" must be`,
		"many":                `"many" must be`,
		"20000":               `"20000" must be`,
		"aws=0":               `"0" must be`,
		"aws=":                `"" must be`,
		"=5":                  `"" is not the name of a provider`,
		"a b=5":               `"a b" is not`,
		"hashicorp/=5":        `"hashicorp/" is not`,
		"a/b/c/d=5":           `is not the name`,
		"*=5":                 `"*" is not`,
		"aws=1,aws=2":         "names aws twice",
		"5,6":                 `"5,6" has more than one number`,
		"aws=1,":              `"" must be`,
		"9999999999999999999": "must be",
	} {
		var l Limits
		if err := l.ParseCalls(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"50":      "must name a provider, such as aws=50",
		"aws=0":   "must be a number of calls per second",
		"aws=-1":  "must be a number",
		"aws=NaN": "must be a number",
		"aws=Inf": "must be a number",
		"aws=1e9": "must be a number",
		"aws":     "must name a provider",
	} {
		var l Limits
		if err := l.ParseRates(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	var l, below Limits
	for _, err := range []error{l.ParseCalls("0"), l.ParseCalls("a/aws=2"), l.ParseRates("aws=0.5"),
		below.ParseCalls("aws=9,dns=3,4"), below.ParseRates("aws=7,dns=1.5")} {
		if err != nil {
			t.Error(err)
		}
	}
	var full Limits
	if err := full.ParseCalls(addrs.DefaultHost + "/hashicorp/aws=3,example.com/hashicorp/aws=5"); err != nil ||
		!maps.Equal(full.Of, map[string]int{"hashicorp/aws": 3, "example.com/hashicorp/aws": 5}) {
		t.Errorf("full addresses: %v, %v", full.Of, err)
	}
	got := l.Over(below)
	if got.Calls != 4 || !maps.Equal(got.Of, map[string]int{"a/aws": 2, "aws": 9, "dns": 3}) ||
		!maps.Equal(got.Rates, map[string]float64{"aws": 0.5, "dns": 1.5}) || len(below.Of) != 2 {
		t.Errorf("%+v", got)
	}
	if n, ok := lookup(got.Of, "a/aws"); n != 2 || !ok {
		t.Errorf("the longer name does not count: %d", n)
	}
	if n, _ := lookup(got.Of, "b/aws"); n != 9 {
		t.Errorf("the type does not count: %d", n)
	}
	if _, ok := lookup(got.Of, "b/notaws"); ok {
		t.Error("a part of a type counts")
	}
}

// TestBudget checks that processes with one budget keep a rate together, and reserve calls in batches.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var next time.Time
		asked := 0
		budget := func(_ string, rate float64, n int) (time.Duration, error) {
			time.Sleep(5 * time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			asked++
			if now := time.Now(); next.Before(now) {
				next = now
			}
			wait := time.Until(next)
			next = next.Add(time.Duration(float64(n) / rate * float64(time.Second)))
			return wait, nil
		}
		var wg sync.WaitGroup
		began := time.Now()
		for range 4 {
			s := New(Limits{Rates: map[string]float64{"v": 50}})
			s.Share(budget)
			for range 3 { // callers that make one call after the other
				wg.Go(func() {
					for range 50 {
						s.Acquire("acme/v", Read, nil).Release()
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
		}
		wg.Wait()
		if took := time.Since(began); took < 11*time.Second || took > 17*time.Second {
			t.Errorf("600 calls at 50 per second took %s", took)
		}
		if asked > 150 {
			t.Errorf("600 calls were reserved in %d batches", asked)
		}
	})
}
