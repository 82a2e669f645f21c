package repeat

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/pace"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

// Provider returns a provider that repeats calls and tells slots how they went. name is the provider's
// name as it is displayed. recorder and retry may be nil.
func Provider(
	impl providers.Interface, name string, slots *pace.Slots, recorder *timings.Recorder, retry *Retry,
) providers.Interface {
	return &provider{Interface: impl, name: name, slots: slots, timings: recorder, retry: retry}
}

type provider struct {
	providers.Interface
	name    string
	slots   *pace.Slots
	timings *timings.Recorder
	retry   *Retry
}

// policy says how often calls with errors of a class are repeated.
type policy struct {
	tries        int           // maximum number of repeats
	first, limit time.Duration // pauses, which double; a random part of up to a half is left out
}

var policies = map[class]policy{
	temporary: {3, 500 * time.Millisecond, 4 * time.Second},
	throttled: {8, time.Second, 20 * time.Second},
}

// call makes a call that is safe to repeat, until it succeeds, fails for good or was repeated often
// enough. diags are the diagnostics that do sets. typ is the resource type if the call reads something.
func (p *provider) call(ctx context.Context, kind pace.Kind, typ string, diags *tfdiags.Diagnostics, do func()) {
	for tries := 0; ; tries++ {
		p.repeated(ctx, kind, typ, diags, do)
		if !p.again(ctx, "A call", tries, *diags) {
			return
		}
	}
}

// repeated makes a call until it succeeds, or repeats don't help.
func (p *provider) repeated(ctx context.Context, kind pace.Kind, typ string, diags *tfdiags.Diagnostics, do func()) {
	for repeats := 0; ; repeats++ {
		found := p.once(kind, typ, diags, do)
		try := policies[found]
		hopeless := found == throttled && p.slots.Hopeless(p.name)
		if found != final && !hopeless && repeats < try.tries && p.pause(ctx, try, repeats) {
			continue
		}
		if found == throttled && repeats >= try.tries {
			p.slots.GiveUp(p.name)
		}
		if repeats > 0 {
			noteRepeats(diags, repeats)
		}
		return
	}
}

// once makes a call and tells the limits how it went.
func (p *provider) once(kind pace.Kind, typ string, diags *tfdiags.Diagnostics, do func()) class {
	began := time.Now()
	do()
	found := classify(*diags)
	p.slots.Done(p.name, pace.Result{Kind: kind, Type: typ, Began: began, Took: time.Since(began),
		Throttled: found == throttled, Failed: diags.HasErrors()})
	return found
}

// pause waits before another try. It reports false if the context has ended.
func (p *provider) pause(ctx context.Context, try policy, repeats int) bool {
	began := time.Now()
	wait := min(try.first<<min(repeats, 16), try.limit)
	wait -= rand.N(wait/2 + 1)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
	}
	err := p.slots.Wait(ctx, p.name)
	p.timings.Waited(fmt.Sprintf("to repeat a call of %s", p.name), time.Since(began))
	return err == nil
}

// noteRepeats adds to the errors of the last answer how often the provider was asked.
func noteRepeats(diags *tfdiags.Diagnostics, repeats int) {
	out := make(tfdiags.Diagnostics, len(*diags))
	for i, d := range *diags {
		if d.Severity == tfdiags.Error {
			d.Detail = fmt.Sprintf("%s\n\nThe call was repeated %d times.", d.Detail, repeats)
		}
		out[i] = d
	}
	*diags = out
}

// ValidateResource implements providers.Interface.
func (p *provider) ValidateResource(ctx context.Context, typ string, config cty.Value) (diags tfdiags.Diagnostics) {
	p.call(ctx, pace.Local, "", &diags, func() { diags = p.Interface.ValidateResource(ctx, typ, config) })
	return diags
}

// ValidateDataSource implements providers.Interface.
func (p *provider) ValidateDataSource(ctx context.Context, typ string, config cty.Value) (diags tfdiags.Diagnostics) {
	p.call(ctx, pace.Local, "", &diags, func() { diags = p.Interface.ValidateDataSource(ctx, typ, config) })
	return diags
}

// ReadResource implements providers.Interface.
func (p *provider) ReadResource(ctx context.Context, req providers.ReadRequest) (resp providers.ReadResponse) {
	p.call(ctx, pace.Read, req.Type, &resp.Diagnostics, func() { resp = p.sooner(ctx, req) })
	return resp
}

// sooner reads an object, and asks a second time if the answer is late: when a packet is lost, many clients
// notice that only after seconds. The first answer counts; that of the second call only without errors.
func (p *provider) sooner(ctx context.Context, req providers.ReadRequest) providers.ReadResponse {
	wait := p.slots.Usual(p.name, req.Type)
	if wait.For == 0 {
		return p.Interface.ReadResource(ctx, req)
	}
	answers := make(chan answer, 2) // so that the later one ends, too
	go func() { answers <- p.read(ctx, req) }()
	tick := time.NewTimer(wait.For)
	defer tick.Stop()
	done := make(chan struct{})
	defer close(done)
	for {
		select {
		case a := <-answers:
			return a.response()
		case <-tick.C:
		}
		if !wait.Overtaken() {
			tick.Reset(wait.For / 3)
			continue
		}
		go func() {
			slot := p.slots.Acquire(p.name, pace.Read, done)
			defer slot.Release()
			select {
			case <-done:
				return
			default:
			}
			if a := p.read(ctx, req); a.crash == nil && !a.Diagnostics.HasErrors() {
				answers <- a
			}
		}()
		a := <-answers
		return a.response()
	}
}

// answer is the result of a read in a goroutine of its own.
type answer struct {
	providers.ReadResponse
	crash *tfdiags.Crash // the panic that ended the read
}

func (p *provider) read(ctx context.Context, req providers.ReadRequest) (a answer) {
	defer func() {
		if problem := recover(); problem != nil {
			crash := tfdiags.CrashOf(problem)
			a.crash = &crash
		}
	}()
	a.ReadResponse = p.Interface.ReadResource(ctx, req)
	return a
}

// response returns the response, or panics as the read did.
func (a answer) response() providers.ReadResponse {
	if a.crash != nil {
		panic(*a.crash)
	}
	return a.ReadResponse
}

// ReadDataSource implements providers.Interface.
func (p *provider) ReadDataSource(
	ctx context.Context, req providers.ReadDataRequest,
) (resp providers.ReadDataResponse) {
	p.call(ctx, pace.Read, "data."+req.Type, &resp.Diagnostics, func() { resp = p.Interface.ReadDataSource(ctx, req) })
	return resp
}

// PlanResourceChange implements providers.Interface.
func (p *provider) PlanResourceChange(
	ctx context.Context, req providers.PlanRequest,
) (resp providers.PlanResponse) {
	p.call(ctx, pace.Local, "", &resp.Diagnostics, func() { resp = p.Interface.PlanResourceChange(ctx, req) })
	return resp
}

// ApplyResourceChange repeats only creations that made nothing, and only if the user wants it.
func (p *provider) ApplyResourceChange(
	ctx context.Context, req providers.ApplyRequest,
) (resp providers.ApplyResponse) {
	for tries := 0; ; tries++ {
		p.once(pace.Write, "", &resp.Diagnostics, func() { resp = p.Interface.ApplyResourceChange(ctx, req) })
		if !madeNothing(&req, &resp) || !p.again(ctx, "The creation of an object of type "+req.Type, tries, resp.Diagnostics) {
			return resp
		}
	}
}

// ImportResourceState implements providers.Interface. It isn't repeated: some providers change
// something.
func (p *provider) ImportResourceState(
	ctx context.Context, req providers.ImportRequest,
) (resp providers.ImportResponse) {
	p.once(pace.Read, "", &resp.Diagnostics, func() { resp = p.Interface.ImportResourceState(ctx, req) })
	return resp
}
