package engine

import (
	"reflect"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/lang/marks"
)

// Answers remembers what providers answered while a plan was made. If another plan of the same
// configuration and state has the same question about the same instance, the answer is used again.
// The zero value is empty and ready for use.
type Answers struct {
	mu      sync.Mutex
	configs map[addrs.ProviderInstance]cty.Value // the configuration that gave the answers
	given   map[addrs.ProviderInstance]map[question][]givenAnswer
}

// question is a call for an instance. The requests of an instance differ, for example because it has
// several objects.
type question struct {
	method string
	addr   addrs.AbsInstance
}

type givenAnswer struct{ request, answer any }

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
		a.given = map[addrs.ProviderInstance]map[question][]givenAnswer{}
	}
	a.configs[p], a.given[p] = steady, map[question][]givenAnswer{}
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
			return g.answer.(A)
		}
	}
	answer := call()
	a.mu.Lock()
	defer a.mu.Unlock()
	if of := a.given[t.prov.addr]; of != nil { // nil if the provider is mocked
		of[q] = append(of[q], givenAnswer{request, answer})
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
