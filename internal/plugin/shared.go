package plugin

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"

	"tofu/internal/addrs"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Shared lets several pools of one run, one for each root module, share schemas and processes. All
// users of a package share one process until they configure it. A configured process runs in the
// working directory of its user. The key of a package includes its hash, so each pool gets the
// version that its root module requires. The zero value is ready for use.
type Shared struct {
	// Configured makes users with equal configurations share a process, which runs in the working
	// directory of this program.
	Configured bool
	// Keep is the time for which a configured process is kept after its user has closed it, as Pool.Keep.
	Keep time.Duration

	mu         sync.Mutex
	members    map[sharedKey]*member
	configured map[*member][]*configuredProcess
	separate   map[separateKey]int // the number of users with a configuration, unless Configured is set
	pool       Pool                // starts the processes
}

// sharedKey identifies a package by its provider and hash.
type sharedKey struct {
	addr addrs.Provider
	hash string
}

// separateKey identifies a configuration of a package by its hash.
type separateKey struct {
	of     *member
	config [sha256.Size]byte
}

// Repeated returns the number of processes that were started for a configuration that another user
// has, too. It is 0 if Configured is set.
func (s *Shared) Repeated() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, users := range s.separate {
		n += users - 1
	}
	return n
}

// count counts a user of a configuration that doesn't share its process.
func (s *Shared) count(m *member, config cty.Value) {
	text, err := msgpack.Marshal(config, config.Type())
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.separate == nil {
		s.separate = make(map[separateKey]int)
	}
	s.separate[separateKey{m, sha256.Sum256(text)}]++
}

// configuredProcess is a process together with its configuration.
type configuredProcess struct {
	config cty.Value
	once   sync.Once
	proc   *pooled // nil if the process could not be started or configured
	diags  tfdiags.Diagnostics
}

// member returns the shared member for the package of launch, or nil if the package can't be
// shared.
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

// sharedUser is the provider for one user of a shared member.
type sharedUser struct {
	providers.Interface
	shared  *Shared
	member  *member
	workDir string

	defers bool // whether AllowDeferral was called

	mu    sync.Mutex // guards the fields below, and Interface while Configure replaces it
	fresh *pooled    // the unconfigured process, which may have other users; nil after Configure
	own   *pooled    // the configured process; nil if it has other users
}

// take returns a new user of the member's unconfigured process. It starts the process if necessary.
func (s *Shared) take(ctx context.Context, m *member, workDir string) (*sharedUser, error) {
	if s.Configured {
		workDir = ""
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.idle = slices.DeleteFunc(m.idle, func(p *pooled) bool { return p.dirty.Load() || p.exited() })
	if len(m.idle) == 0 {
		proc, err := s.start(ctx, m, *m.launch, workDir)
		if err != nil {
			return nil, err
		}
		m.idle = append(m.idle, proc)
	}
	proc := m.idle[0]
	proc.users++
	return &sharedUser{Interface: proc, shared: s, member: m, workDir: workDir, fresh: proc}, nil
}

func (s *Shared) start(ctx context.Context, m *member, launch Launch, workDir string) (*pooled, error) {
	launch.WorkDir = workDir
	s.mu.Lock()
	s.pool.Keep = s.Keep
	s.mu.Unlock()
	proc, err := s.pool.start(ctx, m, launch)
	if err == nil {
		proc.workDir = workDir
	}
	return proc, err
}

// Configure implements providers.Interface. It first makes the user switch to a process in the
// user's working directory. If Configured is set and the configuration is wholly known, the user
// instead switches to a process with the same configuration.
func (u *sharedUser) Configure(ctx context.Context, config cty.Value) tfdiags.Diagnostics {
	switch known := config.IsWhollyKnown(); {
	case u.own != nil: // a kept process
		if u.defers {
			u.own.AllowDeferral()
		}
		return u.own.Configure(ctx, config)
	case known && u.shared.Configured:
		return u.join(ctx, config)
	case known:
		u.shared.count(u.member, config)
	}
	if err := u.settle(ctx); err != nil {
		return startFailed(u.member.launch.Provider, err)
	}
	return u.own.Configure(ctx, config)
}

// settle makes the user use a process that only this user configures. If no other user has the
// current process and it runs in the right working directory, settle keeps it. Otherwise it starts
// a new process.
func (u *sharedUser) settle(ctx context.Context) error {
	proc, launch := u.claim()
	if proc == nil {
		var err error
		if proc, err = u.shared.start(ctx, u.member, launch, u.workDir); err != nil {
			return err
		}
	}
	if u.defers {
		proc.AllowDeferral()
	}
	u.replace(proc, proc)
	return nil
}

// claim takes the user's unconfigured process away from the member. If this process can't be
// configured for the user, claim returns a nil process and the Launch with which to start another
// one.
func (u *sharedUser) claim() (*pooled, Launch) {
	m := u.member
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.Index(m.idle, u.fresh)
	if i < 0 || u.fresh.users > 1 || u.fresh.workDir != u.workDir || u.fresh.exited() {
		return nil, *m.launch
	}
	m.idle = slices.Delete(m.idle, i, i+1)
	return u.fresh, Launch{}
}

// AllowDeferral implements providers.Interface. It is passed on later, to the process that the user
// configures.
func (u *sharedUser) AllowDeferral() { u.defers = true }

// replace makes the user call a configured process instead of the unconfigured one. own is the
// configured process, or nil if that process has other users.
func (u *sharedUser) replace(with, own *pooled) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.Interface, u.own = with, own
	u.leave()
}

// leave ends the use of the unconfigured process, which keeps running for other users. The caller
// has locked u.
func (u *sharedUser) leave() {
	if u.fresh == nil {
		return
	}
	u.member.mu.Lock()
	u.fresh.users--
	u.member.mu.Unlock()
	u.fresh = nil
}

// join makes the user use the process with the given configuration. The first user with this
// configuration starts the process. A process that has crashed is replaced.
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
		}
	})
	switch {
	case c.proc == nil:
		return c.diags
	case c.proc.exited():
		u.shared.forget(u.member, c)
		return u.join(ctx, config)
	}
	u.replace(c.proc, nil) // the process belongs to all users and ends with the run
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

// forget removes a configured process, so that the next user with its configuration starts another
// one.
func (s *Shared) forget(m *member, c *configuredProcess) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configured[m] = slices.DeleteFunc(s.configured[m], func(other *configuredProcess) bool { return other == c })
}

// Stop implements providers.Interface. It stops the process for all of its users, because an
// interrupt applies to all of them.
func (u *sharedUser) Stop(ctx context.Context) error {
	u.mu.Lock()
	proc := u.Interface
	u.mu.Unlock()
	return proc.Stop(ctx)
}

// Close ends the process if it was configured only for this user.
func (u *sharedUser) Close() error {
	u.mu.Lock()
	own := u.own
	u.own = nil
	u.leave()
	u.mu.Unlock()
	if own == nil {
		return nil
	}
	return own.Close()
}
