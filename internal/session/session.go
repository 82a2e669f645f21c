package session

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/backend"
	"tofu/internal/cliconfig"
	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
	"tofu/internal/plans"
	"tofu/internal/plugin"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
	"tofu/internal/ui"
)

// Process holds what all sessions of a process share. Only the parser changes: it keeps what it parsed.
type Process struct {
	Env        func(name string) string // returns an environment variable
	Environ    []string                 // the whole environment, as "NAME=value"
	CLI        *cliconfig.Config
	Interrupts *terminal.Interrupts
	Logs       *terminal.Logs
	Parser     *configs.Parser
	Moves      *MoveFinisher // nil if nothing finishes interrupted moves
	CheckReads bool          // whether the engine checks that instances are ready before they are read; set by tests
}

// NewProcess opens the logs of a process. environ is its environment.
func NewProcess(environ []string, cli *cliconfig.Config, stderr io.Writer) *Process {
	values := make(map[string]string, len(environ))
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		values[name] = value
	}
	env := func(name string) string { return values[name] }
	return &Process{Env: env, Environ: environ, CLI: cli, Interrupts: terminal.NewInterrupts(),
		Logs: terminal.OpenLogs(env, stderr), Parser: configs.NewParser(nil)}
}

// Session is one run of a command in a working directory.
type Session struct {
	*Process
	*terminal.Terminal
	Dirs
	Preset Preset       // settings for this root module in roots.tofu.hcl
	Part   configs.Part // what commands load of the root module: Whole, or Queries too
	Input  bool         // whether the user may be asked for values

	// FileRead, if not nil, is called with the path of each file that functions read while the configuration
	// is loaded.
	FileRead func(path string)

	remote remoteReads // reads of the plan that is being created

	Remote remoteOutputs // nil unless the run plans several root modules
	Estate *EstateMoves  // nil unless the run is one over an estate

	// Incomplete, if not nil, is printed after the errors: what an apply that failed has done.
	Incomplete *ui.Incomplete
	// Warnings holds the reported warnings that are not printed yet.
	Warnings Warnings

	Plugins *plugin.Shared    // nil if there is only one root module; see SharePlugins
	Clients *backend.Clients  // clients of backends that several sessions share; see ShareClients
	Timings *timings.Recorder // nil without -timings
	// LastState remembers the state that was read last, for processes that read it again and again; may be
	// nil.
	LastState *statefile.Last

	Encryption Encryption
	Snapshot   map[string][]byte // configuration files in the saved plan; nil without a saved plan

	leases []*backend.Lease // leases of the clients of opened stores
	// storeProviders holds the providers whose state stores are used. They run until Close.
	storeProviders map[addrs.Provider]*Providers
	unreleased     tfdiags.Diagnostics // errors of Release
	reads          *planReads          // of an operation with a Memory; otherwise nil
	// stores says that the configuration or a state has a terraform_data with the block store. unsearched
	// holds the states for which this isn't known yet.
	stores     bool
	unsearched []*states.State
}

// remoteOutputs returns the outputs of another state as they will be after the changes that this
// run has planned. read returns the present outputs. found is false if there is no state.
type remoteOutputs func(ctx context.Context, of *RemoteState, read RemoteReader) (
	outputs map[string]cty.Value, found bool, err error)

// New returns the session for the root module in the working directory, workDir.
func New(p *Process, workDir string, t *terminal.Terminal) *Session {
	return &Session{
		Process: p, Terminal: t, Encryption: Encryption{getenv: p.Env},
		Dirs: Dirs{WorkDir: workDir, RootDir: ".", DataDir: cmp.Or(p.Env("TF_DATA_DIR"), ".terraform"),
			InitCommand: "tofu init"},
	}
}

// RootModule is one of several root modules in which a command runs.
type RootModule struct {
	Dir     string // relative to the working directory
	Own     string // the directory below the data directory that has its working files; "" for the data directory itself
	Preset  Preset
	Timings *timings.Recorder // nil without -timings
}

// At returns a session for another root module, whose terminal is t. The new session shares the
// process, running plugins and the clients of backends with s.
func (s *Session) At(m RootModule, t *terminal.Terminal) *Session {
	return &Session{
		Process: s.Process, Terminal: t, Dirs: s.Dirs.at(m), Preset: m.Preset, Timings: m.Timings,
		Plugins: s.Plugins, Clients: s.Clients, Encryption: Encryption{getenv: s.Env},
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

// Close releases the clients that the session shares with the sessions of other root modules, and ends
// the providers of state stores. After that, stores that the session has opened can't be used.
func (s *Session) Close() {
	for _, l := range s.leases {
		l.Release()
	}
	s.leases = nil
	for _, running := range s.storeProviders {
		running.Close()
	}
	s.storeProviders = nil
}

// Warnings collects warnings until they are printed. The zero value is an empty list. It is not
// safe for concurrent use.
type Warnings struct{ list tfdiags.Diagnostics }

// Add adds warnings. It is a [tfdiags.Sink].
func (w *Warnings) Add(warnings ...tfdiags.Diagnostic) { w.list.Add(warnings...) }

// Any reports whether there are warnings.
func (w *Warnings) Any() bool { return len(w.list) > 0 }

// planned returns the warnings in the form in which plans are saved.
func (w *Warnings) planned() []plans.Warning {
	var out []plans.Warning
	for _, d := range w.list {
		one := plans.Warning{Summary: d.Summary, Detail: d.Detail}
		if d.Subject != nil {
			one.Place = fmt.Sprintf("%s:%d", d.Subject.Filename, d.Subject.Start.Line)
		}
		if rule, ok := d.Extra.(tfdiags.CheckRule); ok {
			one.Check = rule.Address
		}
		out = append(out, one)
	}
	return out
}

// Take returns the warnings and empties the list.
func (w *Warnings) Take() tfdiags.Diagnostics {
	list := w.list
	w.list = nil
	return list
}

// Variables holds the values of input variables that the command line sets.
type Variables struct{ Vars []inputs.Flag }
