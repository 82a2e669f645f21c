package plugin

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Pool starts providers on demand and shares what does not change. The schema of a package is
// fetched and decoded once. A process that was started for its schema, or used without being
// configured, serves the next user. A Pool is for one run of the program.
type Pool struct {
	// Find returns how to start a provider. It is called once for each provider in use.
	Find func(ctx context.Context, addr addrs.Provider) (Launch, error)
	// Builtin holds functions that return the built-in providers.
	Builtin map[addrs.Provider]func() providers.Interface
	// Shared is what the pools of several root modules share. Optional.
	Shared *Shared

	mu      sync.Mutex
	members map[addrs.Provider]*member
	running map[*pooled]bool
}

// member is a provider. Its mutex is held while a process is started for its schema.
type member struct {
	mu     sync.Mutex
	launch *Launch
	schema *providers.Schema
	shared *member // the member that pools share; nil if none is
	// idle holds unconfigured processes. They are unused, so those started by validation serve the
	// plan; that of a member that pools share may have several users at once.
	idle []*pooled
}

// A pooled provider is a process in use. Close returns it to the pool unless it is dirty.
type pooled struct {
	providers.Interface
	pool   *Pool
	member *member
	dirty  atomic.Bool // configured or stopped
	// Of a process of a member that pools share: its working directory, and how many users it has
	// before it is configured, guarded by the mutex of the member.
	workDir string
	users   int
}

// Schema returns the schema of a provider. It starts a process only if the schema is not cached.
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

// schemaOf returns the schema of a member that pools share.
func (p *Pool) schemaOf(ctx context.Context, m *member, addr addrs.Provider) (*providers.Schema, tfdiags.Diagnostics) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.schema != nil {
		return m.schema, nil
	}
	return p.fetch(ctx, m, addr)
}

// fetch reads the schema from the cache or from a process. m is locked.
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
	if proc := m.takeIdle(); proc != nil {
		m.mu.Unlock()
		return proc, nil
	}
	launch := *m.launch
	m.mu.Unlock() // several processes may start concurrently
	return p.start(ctx, m, launch)
}

// Close ends all processes, including those in use.
func (p *Pool) Close() error {
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

// find sets how the provider is started. m is locked.
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

// take returns an idle process or a new one. m is locked.
func (p *Pool) take(ctx context.Context, m *member) (*pooled, error) {
	if proc := m.takeIdle(); proc != nil {
		return proc, nil
	}
	return p.start(ctx, m, *m.launch)
}

// takeIdle returns an idle process, or nil. m is locked.
func (m *member) takeIdle() *pooled {
	n := len(m.idle)
	if n == 0 {
		return nil
	}
	proc := m.idle[n-1]
	m.idle = m.idle[:n-1]
	return proc
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

// end ends a process, unless Close has ended it.
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

// Configure records that no other user can use the process.
func (l *pooled) Configure(ctx context.Context, config cty.Value) tfdiags.Diagnostics {
	l.dirty.Store(true)
	return l.Interface.Configure(ctx, config)
}

// Stop records the same, because a stopped provider rejects further calls.
func (l *pooled) Stop(ctx context.Context) error {
	l.dirty.Store(true)
	return l.Interface.Stop(ctx)
}

// Close returns the process to the pool or ends it.
func (l *pooled) Close() error {
	if l.dirty.Load() || l.exited() {
		return l.pool.end(l)
	}
	l.member.mu.Lock()
	defer l.member.mu.Unlock()
	l.member.idle = append(l.member.idle, l)
	return nil
}

func (l *pooled) exited() bool {
	c, ok := l.Interface.(*client)
	return ok && c.process.client.Exited()
}

func startFailed(addr addrs.Provider, err error) tfdiags.Diagnostics {
	return tfdiags.Errorf("Failed to start provider", "The provider %s could not be started: %s.",
		addr.ForDisplay(), err).List()
}
