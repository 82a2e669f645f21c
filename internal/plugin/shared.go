package plugin

import (
	"context"
	"sync"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Shared lets several pools of one run, each for a root module, share schemas and processes. A
// process that is not configured serves any of them. A process is configured in the working
// directory of its user. Packages are told apart by their hashes, so each pool has the version that
// its root module requires. The zero value is ready for use.
type Shared struct {
	// Configured says that users with equal configurations share a process, which runs in the working
	// directory of this program.
	Configured bool

	mu         sync.Mutex
	members    map[sharedKey]*member
	configured map[*member][]*configuredProcess
	pool       Pool // of the processes
}

// sharedKey identifies a package, together with the part of the environment that schemas depend on.
type sharedKey struct {
	addr addrs.Provider
	hash string
}

// configuredProcess is a process with the configuration that it got.
type configuredProcess struct {
	config cty.Value
	once   sync.Once
	proc   providers.Interface // nil if it could not be started or configured
	diags  tfdiags.Diagnostics
}

// member returns the member for a package; nil if it can't be shared.
func (s *Shared) member(launch *Launch) *member {
	if s == nil || launch.Reattach != nil || launch.PackageHash == "" {
		return nil
	}
	key := sharedKey{launch.Provider, launch.PackageHash}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.members[key]
	if m == nil {
		if s.members == nil {
			s.members = make(map[sharedKey]*member)
		}
		own := *launch
		own.WorkDir = ""
		m = &member{launch: &own}
		s.members[key] = m
	}
	return m
}

// Close ends all processes.
func (s *Shared) Close() error { return s.pool.Close() }

// sharedUser is one user of a shared member. Until it is configured, it has a process that may run in
// any working directory.
type sharedUser struct {
	providers.Interface
	shared  *Shared
	member  *member
	workDir string

	defers bool // AllowDeferral was called

	mu    sync.Mutex // guards Interface while Configure replaces it
	own   *pooled    // the process; nil if it is shared after Configure
	ended bool
}

// take returns an unconfigured process for a user in a working directory.
func (s *Shared) take(ctx context.Context, m *member, workDir string) (*sharedUser, error) {
	m.mu.Lock()
	proc := m.takeIdle()
	launch := *m.launch
	m.mu.Unlock()
	if s.Configured {
		workDir = ""
	}
	if proc == nil {
		var err error
		if proc, err = s.start(ctx, m, launch, workDir); err != nil {
			return nil, err
		}
	}
	return &sharedUser{Interface: proc, shared: s, member: m, workDir: workDir, own: proc}, nil
}

func (s *Shared) start(ctx context.Context, m *member, launch Launch, workDir string) (*pooled, error) {
	launch.WorkDir = workDir
	proc, err := s.pool.start(ctx, m, launch)
	if err == nil {
		proc.workDir = workDir
	}
	return proc, err
}

// Configure implements providers.Interface. It moves to a process in the right working directory,
// or to one with the same configuration.
func (u *sharedUser) Configure(ctx context.Context, config cty.Value) tfdiags.Diagnostics {
	if u.shared.Configured && config.IsWhollyKnown() {
		return u.join(ctx, config)
	}
	if err := u.settle(ctx); err != nil {
		return startFailed(u.member.launch.Provider, err)
	}
	return u.own.Configure(ctx, config)
}

// settle makes sure that the process runs in the working directory of the user.
func (u *sharedUser) settle(ctx context.Context) error {
	if u.own.workDir == u.workDir {
		return nil
	}
	u.member.mu.Lock()
	launch := *u.member.launch
	u.member.mu.Unlock()
	proc, err := u.shared.start(ctx, u.member, launch, u.workDir)
	if err != nil {
		return err
	}
	if u.defers {
		proc.AllowDeferral()
	}
	u.replace(proc, proc)
	return nil
}

// AllowDeferral implements providers.Interface.
func (u *sharedUser) AllowDeferral() {
	u.defers = true
	u.Interface.AllowDeferral()
}

// replace makes the user use another process, and returns its former one to the pool.
func (u *sharedUser) replace(with providers.Interface, own *pooled) {
	u.mu.Lock()
	former := u.own
	u.Interface, u.own = with, own
	u.mu.Unlock()
	if former != nil && former != own {
		_ = former.Close()
	}
}

// join makes the user use the process with its configuration. The first user brings its own.
func (u *sharedUser) join(ctx context.Context, config cty.Value) tfdiags.Diagnostics {
	c := u.shared.configuration(u.member, config)
	c.once.Do(func() {
		if err := u.settle(ctx); err != nil {
			c.diags = startFailed(u.member.launch.Provider, err)
			return
		}
		c.diags = u.own.Configure(ctx, config)
		if !c.diags.HasErrors() {
			c.proc = u.own
			u.mu.Lock()
			u.own = nil // it belongs to all users, and ends with the run
			u.mu.Unlock()
		}
	})
	if c.proc != nil {
		u.replace(c.proc, nil)
	}
	return c.diags
}

func (s *Shared) configuration(m *member, config cty.Value) *configuredProcess {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.configured[m] {
		if c.config.RawEquals(config) {
			return c
		}
	}
	if s.configured == nil {
		s.configured = make(map[*member][]*configuredProcess)
	}
	c := &configuredProcess{config: config}
	s.configured[m] = append(s.configured[m], c)
	return c
}

// Stop implements providers.Interface. All users of a process stop at the same interrupt.
func (u *sharedUser) Stop(ctx context.Context) error {
	u.mu.Lock()
	proc := u.Interface
	u.mu.Unlock()
	return proc.Stop(ctx)
}

// Close returns the process to the pool, or ends it if it was configured for this user.
func (u *sharedUser) Close() error {
	u.mu.Lock()
	own, ended := u.own, u.ended
	u.ended = true
	u.mu.Unlock()
	if own == nil || ended {
		return nil
	}
	return own.Close()
}
