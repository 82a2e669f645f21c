package engine

import (
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// results holds everything that a walk produces. Its methods are safe for concurrent use.
type results struct {
	observer      func(Event)     // optional
	sink          tfdiags.Sink    // optional; called with mu held
	stop          <-chan struct{} // closed when the operation is stopped; the walk is halted shortly afterwards
	recordsChecks bool            // whether results of conditions are recorded

	mu         sync.Mutex    // guards the fields below
	state      *states.State // while planning, the refreshed state; while applying, the current state
	prevRun    *states.State // while planning, the prior state after moves and upgrades
	changes    *plans.Changes
	planned    map[addrs.AbsInstance]*plans.InstanceChange // changes by instance, built when first needed
	checks     *checks.Results
	deferred   []*plans.Deferred
	errs       tfdiags.Diagnostics
	forgotten  int                     // number of objects that were removed from the state but not destroyed
	missing    []string                // objects that are created because there was none to import
	lost       []plans.Lost            // changes that a plan for an earlier time can't restore
	checkReads []*plans.InstanceChange // data sources in check blocks that were read during the plan
}

func newResults(op *operation, state *states.State) *results {
	out := &results{
		observer: op.env.Observe, sink: op.env.Warn, stop: op.env.Stop, recordsChecks: op.Phase.Checks(),
		changes: &plans.Changes{}, checks: &checks.Results{},
	}
	if state != nil {
		out.state = state.Clone()
	}
	return out
}

// report adds an error to the results.
func (s *results) report(err error) {
	if err := reported(err); err != nil {
		s.mu.Lock()
		s.errs = s.errs.AppendError(err)
		s.mu.Unlock()
	}
}

// warn passes warnings to the sink.
func (s *results) warn(warnings ...tfdiags.Diagnostic) {
	if s.sink != nil && len(warnings) > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sink(warnings...)
	}
}

// fail tells the observer of a failure, unless err is nil.
func (s *results) fail(err error) {
	if err := reported(err); err != nil {
		s.observe(Failure{err})
	}
}

// start tells the observer about a change that a provider is about to make. If the operation has
// been stopped before or while the observer records the change, start returns an error, and the
// change must not be made.
func (s *results) start(e *ApplyStart) error {
	if !s.stopped() {
		s.observe(*e)
		if !s.stopped() {
			return nil
		}
		s.observe(ApplyDone{Object: e.Object, Action: e.Action, Failed: true, Err: interrupted(e.Addr)})
	}
	return interrupted(e.Addr)
}

// interrupted returns the error for a change that was not started.
func interrupted(addr addrs.AbsInstance) error {
	d := tfdiags.Errorf("Operation interrupted", "The change to %s was not started.", addr)
	d.Extra = tfdiags.Interrupted{}
	return d
}

// stopped reports whether the operation has been stopped.
func (s *results) stopped() bool {
	select {
	case <-s.stop:
		return true
	default:
		return false
	}
}

func (s *results) observe(e Event) {
	if s.observer != nil {
		s.observer(e)
	}
}

// setObject sets an object in the state, or removes it if obj is nil.
func (s *results) setObject(
	addr addrs.AbsInstance, deposed addrs.DeposedKey, obj *states.Object, prov addrs.ProviderInstance,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.SetObject(addr, deposed, obj, prov)
}

// setPrevious sets an object in the state of the previous run, if the walk keeps that state.
func (s *results) setPrevious(
	addr addrs.AbsInstance, deposed addrs.DeposedKey, obj *states.Object, prov addrs.ProviderInstance,
) {
	if s.prevRun == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.prevRun.SetObject(addr, deposed, obj, prov)
}

// current returns the current object of an instance, or nil if none exists.
func (s *results) current(addr addrs.AbsInstance) *states.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.Current(addr)
}

// storeObject sets an object in the state, or removes it if obj is nil, and reports it to the
// observer.
func (s *results) storeObject(
	addr addrs.AbsInstance, deposed addrs.DeposedKey, obj *states.Object, prov addrs.ProviderInstance,
) {
	s.setObject(addr, deposed, obj, prov)
	if obj == nil {
		s.undeclare(addr.Abs())
	}
	s.observe(ObjectStored{Addr: addr, Deposed: deposed, New: obj, Provider: prov})
}

// declare adds a resource without instances to the state, unless the state already has the
// resource. If the run fails later, the state then shows that something required was not created.
func (s *results) declare(addr addrs.AbsResource, provider addrs.AbsProviderConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Resource(addr) == nil {
		s.state.EnsureResource(addr, provider)
	}
}

// undeclare removes a resource from the state if it has no instances.
func (s *results) undeclare(addr addrs.AbsResource) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.state.Resource(addr); r != nil && len(r.Instances) == 0 {
		s.state.RemoveResource(addr)
	}
}

// deferChange adds a deferred change.
func (s *results) deferChange(d *plans.Deferred) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deferred = append(s.deferred, d)
}

// addChange adds a planned change to the results and reports it to the observer.
func (s *results) addChange(change *plans.InstanceChange) {
	s.mu.Lock()
	s.changes.Instances = append(s.changes.Instances, change)
	if s.planned != nil {
		s.index(change)
	}
	s.mu.Unlock()
	s.observe(Planned{change})
}

// change returns the planned change of an instance's current object, or nil if none exists.
func (s *results) change(addr addrs.AbsInstance) *plans.InstanceChange {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.planned == nil {
		s.planned = make(map[addrs.AbsInstance]*plans.InstanceChange, len(s.changes.Instances))
		for _, c := range s.changes.Instances {
			s.index(c)
		}
	}
	return s.planned[addr]
}

// index adds a change to planned. It ignores deposed objects.
func (s *results) index(change *plans.InstanceChange) {
	if change.Deposed == addrs.NotDeposed {
		s.planned[change.Addr] = change
	}
}

// storeOutput puts a root output into the state, or removes it if its value is null. The caller
// holds mu, or is the only user.
func (s *results) storeOutput(o *configs.Output, val cty.Value) {
	bare, _ := val.UnmarkDeep()
	if bare.IsNull() || o.Ephemeral.Value {
		s.state.SetOutput(o.Name, nil)
		return
	}
	s.state.SetOutput(o.Name, &states.Output{
		Value: cty.UnknownAsNull(bare), Sensitive: o.Sensitive.Value, Deprecated: o.Deprecated,
	})
}

// recordCheck adds to the recorded check results of one object. It may be called more than once for
// an object, because postconditions are evaluated after preconditions.
func (s *results) recordCheck(set conditionSet, status checks.Status, messages []string) {
	if !s.recordsChecks {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	block := s.checks.Declare(set.kind, set.config)
	if known := block.Objects[set.object]; known != nil {
		status, messages = max(status, known.Status), append(known.Messages, messages...)
	}
	block.Set(set.object, status, messages)
}

// recordNoObjects records that a block has no objects. Its conditions count as passed.
func (s *results) recordNoObjects(kind checks.Kind, config string) {
	if !s.recordsChecks {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.checks.Declare(kind, config).Summarize()
}

// checkFailed reports whether the recorded check result of an object is already a failure. It
// removes any other result.
func (s *results) checkFailed(set conditionSet) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	block := s.checks.Declare(set.kind, set.config)
	if o := block.Objects[set.object]; o != nil && o.Status == checks.Fail {
		return true
	}
	delete(block.Objects, set.object)
	return false
}
