package session

import (
	"context"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/cliconfig"
	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
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

	Dirs
	Input bool // whether the user may be asked for values

	CheckReads bool // whether the engine checks that instances are ready before they are read; set by tests

	remote remoteReads // reads of the plan that is being created

	Preset Preset // settings for this root module in roots.tofu.hcl

	Remote remoteOutputs // nil unless the run plans several root modules

	// Warnings holds the reported warnings that are not printed yet.
	Warnings Warnings

	Parser  *configs.Parser
	Plugins *plugin.Shared    // nil if there is only one root module; see SharePlugins
	Clients *backend.Clients  // clients of backends that several sessions share; see ShareClients
	Timings *timings.Recorder // nil without -timings

	Encryption Encryption
	Snapshot   map[string][]byte // configuration files in the saved plan; nil without a saved plan

	leases     []*backend.Lease    // leases of the clients of opened stores
	unreleased tfdiags.Diagnostics // errors of Release
}

// remoteOutputs returns the outputs of another state as they will be after the changes that this
// run has planned. read returns the present outputs. found is false if there is no state.
type remoteOutputs func(ctx context.Context, of *RemoteState, read RemoteReader) (
	outputs map[string]cty.Value, found bool, err error)

// New returns the session of a process. environ is its environment.
func New(t *terminal.Terminal, environ []string) *Session {
	values := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	s := &Session{
		Terminal: t, Environ: environ, Env: func(name string) string { return values[name] },
		Interrupts: terminal.NewInterrupts(), Parser: configs.NewParser(nil),
		Dirs: Dirs{RootDir: ".", DataDir: ".terraform", InitCommand: "tofu init"},
	}
	s.Encryption.getenv = s.Env
	if dir := s.Env("TF_DATA_DIR"); dir != "" {
		s.DataDir = dir
	}
	return s
}

// At returns a session for the root module in another directory, whose terminal is t. dir is
// relative to the working directory. The new session shares the user settings and the parsed
// modules with s.
func (s *Session) At(dir string, t *terminal.Terminal) *Session {
	return &Session{
		Terminal: t, Interrupts: s.Interrupts, Logs: s.Logs, Env: s.Env, Environ: s.Environ, CLI: s.CLI,
		Dirs: s.Dirs.at(dir), Parser: s.Parser, Plugins: s.Plugins, Clients: s.Clients, Timings: s.Timings,
		CheckReads: s.CheckReads,
		Encryption: Encryption{getenv: s.Env},
	}
}

// SharePlugins makes the sessions that [Session.At] returns share running plugins. The returned
// function ends the sharing and stops all shared plugins.
func (s *Session) SharePlugins(shared *plugin.Shared) (end func()) {
	s.Plugins = shared
	return func() {
		s.Plugins = nil
		if err := shared.Close(); err != nil {
			s.Logs.Core.Warn("ending providers", "error", err)
		}
	}
}

// ShareClients makes the sessions that At returns share the clients of backends. The returned
// function ends the sharing. It must be called after these sessions are closed.
func (s *Session) ShareClients() (end func()) {
	clients := &backend.Clients{}
	s.Clients = clients
	return func() {
		s.Clients = nil
		clients.Close()
	}
}

// Close releases the clients that the session shares with the sessions of other root modules. After
// that, stores that the session has opened can't be used.
func (s *Session) Close() {
	for _, l := range s.leases {
		l.Release()
	}
	s.leases = nil
}

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
