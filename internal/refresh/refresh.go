// Package refresh plans without reading every object.
//
// A plan that reads only what it must is made in rounds. The first round plans everything from the
// stored objects. The objects that would change, and the objects whose values these changes read,
// are the cone of the plan (plans.Plan.Cone). The next round reads the objects in the cone and plans
// again. If an object in the cone was changed outside, more objects may change, so the cone may
// grow. The rounds end when a round has read its whole cone. Its plan is then the one that a full
// refresh would have made, unless an object outside of the cone was changed outside.
//
// Each round costs as much as planning without reading, but calls no provider with a question that
// an earlier round has asked. Usually there are two rounds. After maxRounds rounds, the last one
// reads everything.
package refresh

import (
	"context"
	"slices"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// maxRounds is the number of rounds after which a plan reads everything. Only a chain of objects that
// were all changed outside, each because of the one before, needs more.
const maxRounds = 10

// Options say which objects a plan reads. The zero value means all.
type Options struct {
	// Minimal says that the plan reads its cone, and other objects only if the other options select
	// them.
	Minimal bool
	// OlderThan selects objects that were last read longer ago; 0 selects all.
	OlderThan time.Duration
	// Types selects objects of matching types or providers; empty means all. NotTypes leaves out
	// objects.
	Types, NotTypes Patterns
	// Only, if it is not empty, selects the objects at these addresses, and no others.
	Only []addrs.Target
	// Vanished says when too many objects are gone.
	Vanished Vanished
	// Continue says that a plan uses the stored values of objects that can't be read.
	Continue bool
}

// Limited reports whether a plan with these options may leave out objects.
func (o *Options) Limited() bool {
	return o.Minimal || o.OlderThan > 0 || len(o.Types)+len(o.NotTypes)+len(o.Only) > 0
}

// selects reports whether the options select an object without regard to the cone.
func (o *Options) selects(c engine.RefreshCandidate, age func() (time.Duration, bool)) bool {
	if o.Minimal && o.OlderThan == 0 && len(o.Types) == 0 {
		return false
	}
	if len(o.Only) > 0 {
		return slices.ContainsFunc(o.Only, func(t addrs.Target) bool { return t.ContainsInstance(c.Addr) })
	}
	if len(o.Types) > 0 && !o.Types.match(c) || o.NotTypes.match(c) {
		return false
	}
	if o.OlderThan == 0 {
		return true
	}
	since, known := age()
	return !known || since > o.OlderThan
}

// A Run is what a plan with options needs besides what every plan needs.
type Run struct {
	Options
	Ages *Ages     // when objects were last read
	Data *Data     // what data sources returned; nil if that is not remembered
	Now  time.Time // the time of the plan
	// Answers has what providers have answered to earlier plans; nil if that is not remembered.
	Answers *engine.Answers

	settled map[object]bool // objects that settle has read
}

// Plan is like [engine.Plan], but reads only the objects that the options select.
func (r *Run) Plan(
	ctx context.Context, cfg *configs.Config, prior *states.State, env *engine.Env, opts *engine.PlanOptions,
) (*plans.Plan, error) {
	prior = r.settle(ctx, cfg, prior, env, opts)
	// A destruction changes everything, so its cone is everything.
	limited := r.Limited() && !opts.SkipRefresh && !(opts.Mode == plans.Destroy && r.Minimal)
	rounds := &rounds{run: r, limited: limited, env: *env, sent: map[sentEvent]bool{}, cone: newObjects(),
		seen: &candidates{}, reads: newReads(r.Continue), answers: r.Answers}
	if rounds.answers == nil {
		rounds.answers = &engine.Answers{}
	}
	if r.Data != nil {
		rounds.data = newDataReads(rounds, r.Data, prior)
	}
	for {
		plan, err := rounds.next(ctx, cfg, prior, opts)
		again := plan != nil && !rounds.last && rounds.grow(plan.Cone)
		again = rounds.reads.follow(plan, prior) || again
		if again && !stopped(env) && ctx.Err() == nil {
			continue
		}
		rounds.finish(env)
		if rounds.data != nil && err == nil {
			r.Data.keep(rounds.data.asked)
		}
		if plan == nil || err != nil {
			return plan, rounds.reads.advise(opts.Mode, err)
		}
		plan.Looked = rounds.looked(plan)
		plan.Unread = rounds.reads.report(env.Warn)
		r.Ages.warnOfReturns(cfg, plan, env.Warn)
		return plan, r.Vanished.check(plan, rounds.hasRead, env.Warn)
	}
}

func stopped(env *engine.Env) bool {
	select {
	case <-env.Stop:
		return true
	default:
		return false
	}
}

// rounds are the rounds of one plan.
type rounds struct {
	run     *Run
	limited bool
	reads   *reads
	data    *dataReads // nil if data sources are not remembered
	env     engine.Env
	answers *engine.Answers
	count   int
	last    bool // whether the current round reads everything that the cone may lead to
	cone    *objects

	before, seen *candidates         // objects that the previous and the current round have asked about
	warnings     tfdiags.Diagnostics // of the current round
	failures     []engine.Event      // of the current round
	sent         map[sentEvent]bool
}

// next plans a round.
func (r *rounds) next(
	ctx context.Context, cfg *configs.Config, prior *states.State, opts *engine.PlanOptions,
) (*plans.Plan, error) {
	r.count++
	r.last = !r.limited || !r.run.Minimal || r.count > maxRounds
	r.before, r.seen = r.seen, &candidates{read: map[object]bool{}}
	r.warnings, r.failures = nil, nil
	env, round := r.env, *opts
	env.Warn = r.warnings.Add
	env.Observe = r.observer()
	if r.limited {
		round.Refresh = r.selects
	}
	if r.limited || r.run.Answers != nil {
		round.Answers = r.answers
	}
	round.ReadDone = r.reads.done
	if r.data != nil {
		round.Data = r.data
	}
	r.reads.begin()
	return engine.Plan(ctx, cfg, prior, &env, &round)
}

// hasRead reports whether the last round has read an object.
func (r *rounds) hasRead(o object) bool {
	return (!r.limited || r.seen.read[o] || r.run.settled[o]) && !r.reads.unread(o)
}

// selects decides whether the current round reads an object.
func (r *rounds) selects(c engine.RefreshCandidate) bool {
	return r.decide(c, false, func() (time.Duration, bool) {
		at, known := r.run.Ages.At(object{c.Addr, c.Deposed}.String())
		return r.run.Now.Sub(at), known
	})
}

// decide decides whether the current round reads an object or a data source. age returns how long ago
// it was last read, if that is known.
func (r *rounds) decide(c engine.RefreshCandidate, must bool, age func() (time.Duration, bool)) bool {
	o := object{c.Addr, c.Deposed}
	reads := must || r.before.read[o] || r.run.Minimal && (r.count > maxRounds || r.cone.has(o)) || r.run.selects(c, age)
	r.seen.add(o, reads)
	return reads
}

// grow adds targets to the cone. It reports whether this adds an object that the current round could
// have read and has not.
func (r *rounds) grow(targets []addrs.Target) bool {
	r.cone.add(targets)
	return r.seen.missed(r.cone)
}

// finish passes on the warnings and failures of the last round.
func (r *rounds) finish(env *engine.Env) {
	if env.Warn != nil {
		env.Warn(r.warnings...)
	}
	for _, e := range r.failures {
		env.Observe(e)
	}
}

// looked says how many objects the plan has read. It returns nil if that is all of them.
func (r *rounds) looked(plan *plans.Plan) *plans.Looked {
	out := &plans.Looked{}
	for o := range stored(plan.PrevRun) {
		out.Objects++
		if r.hasRead(o) {
			out.Read++
			continue
		}
		at, known := r.run.Ages.At(o.String())
		switch {
		case !known:
			out.Unknown++
		case out.Oldest.IsZero() || at.Before(out.Oldest):
			out.Oldest = at
		}
	}
	if out.Read == out.Objects {
		return nil
	}
	return out
}
