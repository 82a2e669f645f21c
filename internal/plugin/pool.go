package plugin

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Pool starts providers on demand and shares what doesn't change. It fetches and decodes the schema
// of a package once. It reuses processes that were started only for their schema, or used without
// being configured. A configured process is reused by users with the same configuration. A Pool is
// for one run of the program.
type Pool struct {
	// Find returns how to start a provider. It is called once for each provider in use.
	Find func(ctx context.Context, addr addrs.Provider) (Launch, error)
	// Builtin maps each built-in provider to a function that returns it.
	Builtin map[addrs.Provider]func() providers.Interface
	// Shared holds the schemas and processes that the pools of several root modules share. It may
	// be nil.
	Shared *Shared
	// Keep is the time for which a configured process is kept after its user has closed it. A user
	// with the same configuration can then reuse it. If Keep is 0, the process ends immediately.
	Keep time.Duration

	mu      sync.Mutex
	members map[addrs.Provider]*member
	running map[*pooled]bool

	early  sync.WaitGroup // the processes that Prepare starts
	giveUp context.CancelFunc
}

// member is one provider of the pool. Its mutex is held while a process is being started to fetch
// the schema.
type member struct {
	mu     sync.Mutex
	launch *Launch
	schema *providers.Schema
	shared *member // the member shared with other pools; nil if the package isn't shared
	// idle holds unconfigured processes without a user. For example, processes started for
	// validation are used again for planning. In a shared member, a process in idle may be in use,
	// even by several users.
	idle []*pooled
	kept []*keptProcess
	// failed is the error of a process that Prepare could not start. The next user gets it.
	failed error
}

// A pooled is a provider process of a pool. Close returns the process to the pool if it can be
// reused, and otherwise ends it.
type pooled struct {
	providers.Interface
	pool   *Pool
	member *member
	// dirty reports whether the process was configured or stopped. stopped reports whether it was
	// stopped.
	dirty, stopped atomic.Bool
	config         atomic.Pointer[cty.Value] // the configuration that the process has accepted; nil if not configured
	// workDir is the working directory of the process, and users is its number of users before it
	// is configured. Both are set only for a process of a shared member, whose mutex guards them.
	workDir string
	users   int
}

// Prepare begins to start a process of each provider and returns at once. The first user of a provider
// waits for its process. Prepare does nothing for packages that several pools share. It is called at
// most once, before the other methods.
func (p *Pool) Prepare(ctx context.Context, list []addrs.Provider) {
	ctx, p.giveUp = context.WithCancel(ctx)
	for _, addr := range list {
		if p.Builtin[addr] != nil {
			continue
		}
		m := p.member(addr)
		m.mu.Lock()
		p.early.Go(func() {
			defer m.mu.Unlock()
			if p.find(ctx, m, addr) != nil || m.shared != nil || m.launch.Reattach != nil {
				return
			}
			m.schema = m.launch.cachedSchema()
			m.launch.Schema = m.schema
			proc, err := p.start(ctx, m, *m.launch)
			if err != nil {
				m.failed = err
				return
			}
			m.idle = append(m.idle, proc)
			if m.schema == nil {
				p.fetch(ctx, m, addr) // if this fails, Schema will say why
			}
		})
	}
}

// Schema returns the schema of a provider. It starts a process only if the schema is neither known
// nor cached.
func (p *Pool) Schema(ctx context.Context, addr addrs.Provider) (*providers.Schema, tfdiags.Diagnostics) {
	if builtin, ok := p.Builtin[addr]; ok {
		return builtin().Schema(ctx)
	}
	m := p.member(addr)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.schema != nil {
		return m.schema, nil
	}
	if err := p.find(ctx, m, addr); err != nil {
		return nil, tfdiags.FromError(err)
	}
	if m.shared != nil {
		schema, diags := p.Shared.pool.schemaOf(ctx, m.shared, addr)
		m.schema, m.launch.Schema = schema, schema
		return schema, diags
	}
	return p.fetch(ctx, m, addr)
}

// schemaOf returns the schema of a shared member.
func (p *Pool) schemaOf(ctx context.Context, m *member, addr addrs.Provider) (*providers.Schema, tfdiags.Diagnostics) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.schema != nil {
		return m.schema, nil
	}
	return p.fetch(ctx, m, addr)
}

// fetch reads the schema from the cache or from a process. The caller has locked m.
func (p *Pool) fetch(ctx context.Context, m *member, addr addrs.Provider) (*providers.Schema, tfdiags.Diagnostics) {
	m.schema = m.launch.cachedSchema()
	if m.schema != nil {
		m.launch.Schema = m.schema
		return m.schema, nil
	}
	proc, err := p.take(ctx, m)
	if err != nil {
		return nil, startFailed(addr, err)
	}
	schema, diags := proc.Interface.Schema(ctx)
	if schema == nil {
		p.end(proc)
		return nil, diags
	}
	m.schema, m.launch.Schema, m.idle = schema, schema, append(m.idle, proc)
	return schema, diags
}

// Provider returns an unconfigured provider. The caller must close it.
func (p *Pool) Provider(ctx context.Context, addr addrs.Provider) (providers.Interface, error) {
	if builtin, ok := p.Builtin[addr]; ok {
		return builtin(), nil
	}
	m := p.member(addr)
	m.mu.Lock()
	if err := p.find(ctx, m, addr); err != nil {
		m.mu.Unlock()
		return nil, err
	}
	if m.shared != nil {
		m.mu.Unlock()
		return p.Shared.take(ctx, m.shared, m.launch.WorkDir)
	}
	proc, err := m.takeIdle()
	if proc != nil || err != nil {
		m.mu.Unlock()
		if err != nil {
			return nil, err
		}
		return proc, nil
	}
	launch := *m.launch
	m.mu.Unlock() // unlock, so that several processes can start concurrently
	return p.start(ctx, m, launch)
}

// keptProcess is a configured process that nobody uses.
type keptProcess struct {
	proc   *pooled
	config cty.Value // the configuration of the process
}

// keep keeps a configured process until Reuse takes it, for at most p.Keep.
func (p *Pool) keep(proc *pooled, config cty.Value) {
	m, k := proc.member, &keptProcess{proc, config}
	m.mu.Lock()
	m.kept = append(m.kept, k)
	m.mu.Unlock()
	time.AfterFunc(p.Keep, func() {
		if m.takeKept(func(other *keptProcess) bool { return other == k }) != nil {
			_ = p.end(proc) // the process has no user to whom the error could be reported
		}
	})
}

// takeKept removes the first kept process for which wanted returns true, and returns it. It returns
// nil if wanted returns false for all of them.
func (m *member) takeKept(wanted func(*keptProcess) bool) *keptProcess {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.kept, wanted)
	if i < 0 {
		return nil
	}
	k := m.kept[i]
	m.kept = slices.Delete(m.kept, i, i+1)
	return k
}

// Reuse returns a process that was configured with the given configuration and then closed by its
// user. It returns nil if the pool has no such process. The caller must close the process, and must configure it again,
// because credentials that the provider has obtained may have expired.
func (p *Pool) Reuse(addr addrs.Provider, config cty.Value) providers.Interface {
	if p.Keep == 0 || p.Builtin[addr] != nil {
		return nil
	}
	m := p.member(addr)
	m.mu.Lock()
	from, workDir := m, ""
	if m.shared != nil {
		from, workDir = m.shared, m.launch.WorkDir
	}
	m.mu.Unlock()
	k := from.takeKept(func(k *keptProcess) bool { return k.config.RawEquals(config) && k.proc.workDir == workDir })
	if k == nil {
		return nil
	}
	if k.proc.exited() {
		_ = p.end(k.proc) // the process has ended, so the error doesn't matter
		return nil
	}
	k.proc.config.Store(nil)
	if c, ok := k.proc.Interface.(*client); ok {
		c.defers = false // the new user may not call AllowDeferral
	}
	if from != m {
		return &sharedUser{Interface: k.proc, shared: p.Shared, member: from, workDir: workDir, own: k.proc}
	}
	return k.proc
}

// Close ends all processes, including those in use.
func (p *Pool) Close() error {
	if p.giveUp != nil {
		p.giveUp()
		p.early.Wait()
	}
	p.mu.Lock()
	procs := p.running
	p.running = nil
	p.mu.Unlock()
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for proc := range procs {
		wg.Go(func() {
			if err := proc.Interface.Close(); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (p *Pool) member(addr addrs.Provider) *member {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := p.members[addr]
	if m == nil {
		if p.members == nil {
			p.members = make(map[addrs.Provider]*member)
		}
		m = &member{}
		p.members[addr] = m
	}
	return m
}

// find determines how the provider is started. The caller has locked m.
func (p *Pool) find(ctx context.Context, m *member, addr addrs.Provider) error {
	if m.launch != nil {
		return nil
	}
	launch, err := p.Find(ctx, addr)
	if err != nil {
		return err
	}
	launch.Provider = addr
	m.launch = &launch
	m.shared = p.Shared.member(&launch)
	return nil
}

// take returns an idle process or a new one. The caller has locked m.
func (p *Pool) take(ctx context.Context, m *member) (*pooled, error) {
	if proc, err := m.takeIdle(); proc != nil || err != nil {
		return proc, err
	}
	return p.start(ctx, m, *m.launch)
}

// takeIdle returns an idle process, or nil if all are busy, or the error with which Prepare could not
// start one. The caller has locked m.
func (m *member) takeIdle() (*pooled, error) {
	if err := m.failed; err != nil {
		m.failed = nil
		return nil, err
	}
	n := len(m.idle)
	if n == 0 {
		return nil, nil
	}
	proc := m.idle[n-1]
	m.idle = m.idle[:n-1]
	return proc, nil
}

func (p *Pool) start(ctx context.Context, m *member, launch Launch) (*pooled, error) {
	started, err := Start(ctx, launch)
	if err != nil {
		return nil, err
	}
	proc := &pooled{Interface: started, pool: p, member: m}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		p.running = make(map[*pooled]bool)
	}
	p.running[proc] = true
	return proc, nil
}

// end ends a process, unless Close has already ended it.
func (p *Pool) end(proc *pooled) error {
	p.mu.Lock()
	mine := p.running[proc]
	delete(p.running, proc)
	p.mu.Unlock()
	if !mine {
		return nil
	}
	return proc.Interface.Close()
}

// Configure implements providers.Interface. It marks the process as dirty, because a user with
// another configuration can't use it afterwards.
func (l *pooled) Configure(ctx context.Context, config cty.Value) tfdiags.Diagnostics {
	l.dirty.Store(true)
	diags := l.Interface.Configure(ctx, config)
	if !diags.HasErrors() && config.IsWhollyKnown() {
		l.config.Store(&config)
	}
	return diags
}

// Stop implements providers.Interface. It marks the process as dirty, because a stopped provider
// rejects further calls.
func (l *pooled) Stop(ctx context.Context) error {
	l.dirty.Store(true)
	l.stopped.Store(true)
	return l.Interface.Stop(ctx)
}

// Close implements providers.Interface. It returns the process to the pool, or ends it if it can't
// be reused.
func (l *pooled) Close() error {
	switch config := l.config.Load(); {
	case l.exited():
		return l.pool.end(l)
	case !l.dirty.Load():
		l.member.mu.Lock()
		defer l.member.mu.Unlock()
		l.member.idle = append(l.member.idle, l)
		return nil
	case l.pool.Keep > 0 && config != nil && !l.stopped.Load():
		l.pool.keep(l, *config)
		return nil
	}
	return l.pool.end(l)
}

func (l *pooled) exited() bool {
	c, ok := l.Interface.(*client)
	return ok && c.process.client.Exited()
}

func startFailed(addr addrs.Provider, err error) tfdiags.Diagnostics {
	return tfdiags.Errorf("Failed to start provider", "The provider %s could not be started: %s.",
		addr.ForDisplay(), err).List()
}
