package session

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

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
	Environ []string                 // the whole environment, as "NAME=value"
	CLI     *cliconfig.Config

	WorkDir string // initial working directory, before -chdir; the value of path.cwd
	DataDir string // usually ".terraform"
	RootDir string // directory of the root module
	// Base is the directory that paths in the configuration and names of files are relative to;
	// "" means the working directory. A process that works on several root modules has a
	// session for each of them.
	Base  string
	Input bool // whether the user may be asked for values

	CheckReads bool // see engine.Env; tests set it

	remote remoteReads // reads of the plan that is being made

	// InitCommand is the command that initializes the directory, for use in messages.
	InitCommand string

	Preset Preset // settings for this root module in a file about several root modules

	// Remote is nil unless the run plans several root modules. It returns the outputs of another
	// state as they will be after the changes that the run has planned. read reads them as they are
	// now. found is false if there is no such state.
	Remote func(ctx context.Context, of *RemoteState, read RemoteReader) (
		outputs map[string]cty.Value, found bool, err error)

	// Warnings holds the reported warnings that are not printed yet.
	Warnings Warnings

	Parser  *configs.Parser
	Plugins *plugin.Shared    // see SharePlugins; nil if there is only one root module
	Clients *backend.Clients  // see ShareClients
	Timings *timings.Recorder // nil without -timings

	Encrypted *encryption.Config // cached result of encryptionFor
	Snapshot  map[string][]byte  // configuration files in a saved plan; nil if there is no saved plan

	leases []*backend.Lease // leases of the clients of opened stores
}

// New returns the session of a process. environ is its environment.
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

// At returns a session for the root module in another directory. dir is relative to the working
// directory. The session shares the user settings and the parsed modules with s. Its terminal
// is t.
func (s *Session) At(dir string, t *terminal.Terminal) *Session {
	at := &Session{
		Terminal: t, Interrupts: s.Interrupts, Logs: s.Logs, Env: s.Env, Environ: s.Environ, CLI: s.CLI,
		WorkDir: filepath.Join(s.WorkDir, dir), Base: dir, RootDir: dir, Parser: s.Parser, Plugins: s.Plugins,
		Clients: s.Clients, Timings: s.Timings, InitCommand: s.InitCommand,
	}
	at.DataDir = at.path(s.DataDir)
	return at
}

// SharePlugins makes the sessions that [Session.At] returns share running plugins. end stops
// the sharing and all shared plugins.
func (s *Session) SharePlugins(shared *plugin.Shared) (end func()) {
	s.Plugins = shared
	return func() {
		s.Plugins = nil
		if err := shared.Close(); err != nil {
			s.Logs.Core.Warn("ending providers", "error", err)
		}
	}
}

// ShareClients makes the sessions that At returns share the clients of backends. end stops the
// sharing; it must be called after these sessions are closed.
func (s *Session) ShareClients() (end func()) {
	clients := &backend.Clients{}
	s.Clients = clients
	return func() {
		s.Clients = nil
		clients.Close()
	}
}

// Close releases the clients that the session shares with the sessions of other root modules.
// Stores that the session opened can't be used afterwards.
func (s *Session) Close() {
	for _, l := range s.leases {
		l.Release()
	}
	s.leases = nil
}

// path returns the path of a file relative to the working directory. name, from the
// configuration or the user, is relative to Base.
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

// Warnings collects warnings until they are printed. The zero value is an empty list. It is not
// safe for concurrent use.
type Warnings struct{ list tfdiags.Diagnostics }

// Add adds warnings. It is a [tfdiags.Sink].
func (w *Warnings) Add(warnings ...tfdiags.Diagnostic) { w.list.Add(warnings...) }

// Take returns the warnings and empties the list.
func (w *Warnings) Take() tfdiags.Diagnostics {
	list := w.list
	w.list = nil
	return list
}

// Variables holds the values of input variables that the command line sets.
type Variables struct{ Vars []inputs.Flag }
