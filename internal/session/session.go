package session

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/cliconfig"
	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
	"tofu/internal/depsfile"
	"tofu/internal/encryption"
	"tofu/internal/plugin"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

// Session is one run of a command in a working directory.
type Session struct {
	*terminal.Terminal
	Interrupts *terminal.Interrupts
	Logs       *terminal.Logs

	Env     func(name string) string // returns an environment variable
	Environ []string                 // the whole environment as "NAME=value"
	CLI     *cliconfig.Config

	WorkDir string // initial working directory, before -chdir (path.cwd)
	DataDir string // usually ".terraform"
	RootDir string // the root module
	// Base is the directory to which the paths of the configuration and the names of files beside
	// it are relative; "" means the working directory. A process that works on several root modules
	// has a session for each.
	Base  string
	Input bool // the user may be asked for values

	CheckReads bool // see engine.Env; tests set it

	remote remoteReads // of the plan that is made now

	// InitCommand is the command that initializes the directory, for advice.
	InitCommand string

	Preset Preset // what a file about several root modules says about this one

	// Planned, if not nil, returns the outputs that a state will have when all changes that the
	// same run plans are applied, for the data source at addr. ok is false for states that the run
	// doesn't plan.
	Planned func(ctx context.Context, addr addrs.AbsInstance, state *BackendSettings, workspace string) (
		outputs map[string]cty.Value, ok bool, err error)

	// Warnings are the warnings that functions reported and that are not printed yet.
	Warnings Warnings

	Parser  *configs.Parser
	Plugins *plugin.Shared    // see SharePlugins; nil with only one root module
	Clients *backend.Clients  // see ShareClients
	Timings *timings.Recorder // nil without -timings

	Encrypted *encryption.Config // result of encryptionFor
	Snapshot  map[string][]byte  // files of a saved plan's configuration; nil if there is no such plan

	leases []*backend.Lease // of opened stores
}

// New returns the session of a process with the given environment.
func New(t *terminal.Terminal, environ []string) *Session {
	values := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	s := &Session{
		Terminal: t, Environ: environ, Env: func(name string) string { return values[name] },
		Interrupts: terminal.NewInterrupts(), Parser: configs.NewParser(nil), RootDir: ".", DataDir: ".terraform",
		InitCommand: "tofu init",
	}
	if dir := s.Env("TF_DATA_DIR"); dir != "" {
		s.DataDir = dir
	}
	return s
}

// At returns a session for the root module in another directory, relative to the working directory,
// with the same user settings and parsed modules. Its terminal is t.
func (s *Session) At(dir string, t *terminal.Terminal) *Session {
	at := &Session{
		Terminal: t, Interrupts: s.Interrupts, Logs: s.Logs, Env: s.Env, Environ: s.Environ, CLI: s.CLI,
		WorkDir: filepath.Join(s.WorkDir, dir), Base: dir, RootDir: dir, Parser: s.Parser, Plugins: s.Plugins,
		Clients: s.Clients, Timings: s.Timings, InitCommand: s.InitCommand,
	}
	at.DataDir = at.path(s.DataDir)
	return at
}

// SharePlugins makes the sessions that [Session.At] returns from now on share plugins, until end is
// called, which ends all of these.
func (s *Session) SharePlugins(shared *plugin.Shared) (end func()) {
	s.Plugins = shared
	return func() {
		s.Plugins = nil
		if err := shared.Close(); err != nil {
			s.Logs.Core.Warn("ending providers", "error", err)
		}
	}
}

// ShareClients lets the sessions that At returns share the clients of backends. The result ends
// this, after these sessions are closed.
func (s *Session) ShareClients() (end func()) {
	clients := &backend.Clients{}
	s.Clients = clients
	return func() {
		s.Clients = nil
		clients.Close()
	}
}

// Close releases the clients that the session shares with those of other root modules. Stores that
// the session opened can't be used afterwards.
func (s *Session) Close() {
	for _, l := range s.leases {
		l.Release()
	}
	s.leases = nil
}

// path returns the path relative to the working directory of a file that the configuration or the
// user names relative to Base.
func (s *Session) path(name string) string {
	if s.Base == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(s.Base, name)
}

// LockFile returns the path of the dependency lock file.
func (s *Session) LockFile() string { return s.path(depsfile.FileName) }

// ModuleLockFile returns the path of the file that pins modules.
func (s *Session) ModuleLockFile() string { return s.path(depsfile.ModulesFileName) }

// Warnings collects warnings until they are printed. The zero value is ready to use. It is not safe
// for concurrent use.
type Warnings struct{ list tfdiags.Diagnostics }

// Add adds warnings. It is a [tfdiags.Sink].
func (w *Warnings) Add(warnings ...tfdiags.Diagnostic) { w.list.Add(warnings...) }

// Take returns the warnings and forgets them.
func (w *Warnings) Take() tfdiags.Diagnostics {
	list := w.list
	w.list = nil
	return list
}

// Variables holds the values of input variables that the command line sets.
type Variables struct{ Vars []inputs.Flag }
