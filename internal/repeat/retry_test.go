package repeat

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/pace"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// maker is a provider whose changes fail like those of faulty, and return an object or none.
type maker struct {
	faulty
	made       cty.Value
	unanswered bool
}

func (m *maker) ApplyResourceChange(context.Context, providers.ApplyRequest) providers.ApplyResponse {
	return providers.ApplyResponse{Diagnostics: m.next(), New: m.made, Unanswered: m.unanswered}
}

// TestRetry checks which failed calls of an apply are tried again, and how often.
func TestRetry(t *testing.T) {
	none, object := cty.NullVal(cty.EmptyObject), cty.EmptyObjectVal
	create := providers.ApplyRequest{Type: "t", Prior: none, Planned: object}
	for _, c := range []struct {
		name    string
		request providers.ApplyRequest
		made    cty.Value
		unknown bool
		times   int
		errs    []string
		calls   int
		fails   bool
	}{
		{name: "made nothing", request: create, made: none, times: 2, errs: []string{denied, denied}, calls: 3},
		{name: "too often", request: create, made: none, times: 2, errs: []string{denied, denied, denied}, calls: 3, fails: true},
		{name: "not wanted", request: create, made: none, errs: []string{denied}, calls: 1, fails: true},
		{name: "made something", request: create, made: object, times: 2, errs: []string{denied}, calls: 1, fails: true},
		{name: "says nothing", request: create, made: cty.NilVal, times: 2, errs: []string{denied}, calls: 1, fails: true},
		{name: "no answer", request: create, made: none, unknown: true, times: 2, errs: []string{denied}, calls: 1, fails: true},
		{name: "update", request: providers.ApplyRequest{Prior: object, Planned: object}, made: none, times: 2,
			errs: []string{denied}, calls: 1, fails: true},
		{name: "destruction", request: providers.ApplyRequest{Prior: object, Planned: none}, made: none, times: 2,
			errs: []string{denied}, calls: 1, fails: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &maker{faulty: faulty{errs: c.errs}, made: c.made, unanswered: c.unknown}
			retry := &Retry{Times: c.times, Stop: make(chan struct{}), Tell: func(string) {}}
			p := Provider(m, "acme/x", pace.New(pace.Limits{}), nil, retry)
			retry.Begin()
			resp := p.ApplyResourceChange(t.Context(), c.request)
			if m.calls != c.calls || resp.Diagnostics.HasErrors() != c.fails {
				t.Errorf("%s: %d calls, %v", c.name, m.calls, resp.Diagnostics)
			}
		})
	}
}

// TestRetriedReads checks that reads and plans of an apply are tried again after any error, except for
// those of a dead process, that those of a plan are not, and that an interrupt ends a pause.
func TestRetriedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, told := make(chan struct{}), 0
		retry := &Retry{Times: 3, Stop: stop, Tell: func(string) { told++ }}
		f := &faulty{}
		p := Provider(f, "acme/x", pace.New(pace.Limits{}), nil, retry)
		ask := func(method string, errs ...string) tfdiags.Diagnostics {
			f.errs, f.calls, told = errs, 0, 0
			return methods[method](t.Context(), p)
		}
		if diags := ask("data", denied); !diags.HasErrors() || told != 0 {
			t.Errorf("before an apply: %d retries, %v", told, diags)
		}
		retry.Begin()
		for _, method := range []string{"read", "data", "plan", "validate"} {
			if diags := ask(method, denied, denied, denied); diags.HasErrors() || told != 3 {
				t.Errorf("%s: %d retries, %v", method, told, diags)
			}
		}
		if diags := ask("import", denied); !diags.HasErrors() || told != 0 {
			t.Errorf("import: %d retries, %v", told, diags)
		}
		time.AfterFunc(time.Second/2, func() { close(stop) })
		began := time.Now()
		if diags := ask("read", denied, denied); !diags.HasErrors() || f.calls != 1 || time.Since(began) > time.Second {
			t.Errorf("interrupted: %d calls in %s, %v", f.calls, time.Since(began), diags)
		}
		if p.(*provider).again(t.Context(), "", 0, tfdiags.Errorf("Plugin did not respond", "It died.").List()) {
			t.Error("a call of a dead process is tried again")
		}
		retry.End()
	})
}
