package engine

import (
	"cmp"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/marks"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Answers remembers what providers answered while a plan was made. If another plan has the same
// question about the same instance, the answer is used again. Whether an object has changed outside
// since it was read is up to the caller: see Again. The zero value is empty and ready for use.
type Answers struct {
	mu      sync.Mutex
	pruned  int                                  // the plan before which Again has looked at all answers
	errors  bool                                 // whether there are answers with errors
	plan    int                                  // the number of calls of Again
	configs map[addrs.ProviderInstance]cty.Value // the configuration that gave the answers
	given   map[addrs.ProviderInstance]map[question][]*givenAnswer
	states  []question // about states of other root modules, which are read once for each plan
}

// question is a call for an instance. The requests of an instance differ, for example because it has
// several objects.
type question struct {
	method string
	addr   addrs.AbsInstance
}

type givenAnswer struct {
	request, answer any
	at              time.Time
	used            int // the last plan that has used the answer
}

// keptPlans is the number of plans for which an answer is kept that they don't use, although the
// question has a newer one or is about an instance that is gone.
const keptPlans = 8

// failed reports whether an answer has errors.
func failed(answer any) bool {
	switch of := answer.(type) {
	case tfdiags.Diagnostics:
		return of.HasErrors()
	case providers.ReadResponse:
		return of.Diagnostics.HasErrors()
	case providers.ReadDataResponse:
		return of.Diagnostics.HasErrors()
	case providers.PlanResponse:
		return of.Diagnostics.HasErrors()
	case providers.UpgradeResponse:
		return of.Diagnostics.HasErrors()
	}
	return true // an answer of an unknown type is not kept
}

// isRead reports whether the answer to a call may be another one although the request is the same.
func (q question) isRead() bool { return q.method == "ReadResource" || q.method == readData }

const readData = "ReadDataSource"

// Again begins another plan. It forgets errors, what states of other root modules had, reads that were made
// before since, and what is no longer needed. exists reports whether there is an instance with an address.
func (a *Answers) Again(since time.Time, exists func(addrs.AbsInstance) bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.plan++
	for _, of := range a.given {
		for _, q := range a.states {
			delete(of, q)
		}
	}
	a.states = nil
	if !a.errors && since.IsZero() && a.plan < a.pruned+keptPlans {
		return
	}
	a.errors, a.pruned = false, a.plan
	for _, of := range a.given {
		for q, list := range of {
			last := slices.MaxFunc(list, func(x, y *givenAnswer) int { return cmp.Compare(x.used, y.used) })
			list = slices.DeleteFunc(slices.Clone(list), func(g *givenAnswer) bool {
				return failed(g.answer) || q.isRead() && g.at.Before(since) ||
					g.used < a.plan-keptPlans && (g != last || !exists(q.addr))
			})
			if of[q] = list; len(list) == 0 {
				delete(of, q)
			}
		}
	}
}

// configured passes the configuration of a provider to the memories of an operation. Ephemeral values,
// such as tokens, differ in each plan and are left out.
func (o *operation) configured(p addrs.ProviderInstance, config cty.Value) {
	if o.answers == nil && o.data == nil {
		return
	}
	steady, err := cty.Transform(config, func(_ cty.Path, v cty.Value) (cty.Value, error) {
		if marks.Has(v, marks.Ephemeral) {
			return cty.NullVal(v.Type()), nil
		}
		return v, nil
	})
	if err != nil { // unreachable, because the function returns no errors
		steady = cty.DynamicVal
	}
	steady = unmark(steady)
	if o.data != nil {
		o.data.Configured(p, steady)
	}
	o.answers.configured(p, steady)
}

// configured forgets what a provider has answered if its configuration is not the one that it had
// then.
func (a *Answers) configured(p addrs.ProviderInstance, steady cty.Value) {
	if a == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if before, ok := a.configs[p]; ok && before.RawEquals(steady) {
		return
	}
	if a.configs == nil {
		a.configs = map[addrs.ProviderInstance]cty.Value{}
		a.given = map[addrs.ProviderInstance]map[question][]*givenAnswer{}
	}
	a.configs[p], a.given[p] = steady, map[question][]*givenAnswer{}
}

// recall returns the answer of t's provider to a request. It calls the provider unless the plan
// remembers the answer.
func recall[Q, A any](t *instance, method string, request Q, call func() A) A {
	a, q := t.w.op.answers, question{method, t.addr}
	if a == nil {
		return call()
	}
	a.mu.Lock()
	given := a.given[t.prov.addr][q]
	a.mu.Unlock()
	for _, g := range given {
		if sameRequest(g.request, request) {
			a.mu.Lock()
			g.used = a.plan
			a.mu.Unlock()
			return g.answer.(A)
		}
	}
	at := t.w.op.env.now()
	answer := call()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.errors = a.errors || failed(answer)
	if of := a.given[t.prov.addr]; of != nil { // nil if the provider is mocked
		of[q] = append(slices.Clip(of[q]), &givenAnswer{request, answer, at, a.plan})
		if method == readData && t.prov.addr.Config.Provider.IsBuiltin() {
			a.states = append(a.states, q)
		}
	}
	return answer
}

// sameRequest compares the fields of two requests of one type.
func sameRequest(a, b any) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		v, w := x.Field(i).Interface(), y.Field(i).Interface()
		value, isValue := v.(cty.Value)
		other, _ := w.(cty.Value)
		switch {
		case !isValue && !reflect.DeepEqual(v, w),
			isValue && (value == cty.NilVal) != (other == cty.NilVal),
			isValue && value != cty.NilVal && !value.RawEquals(other):
			return false
		}
	}
	return true
}
