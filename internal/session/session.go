package session

import (
	"strings"

	"tofu/internal/cliconfig"
	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
	"tofu/internal/encryption"
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
	Input   bool   // the user may be asked for values

	// Warnings are the warnings that functions reported and that are not printed yet.
	Warnings Warnings

	Parser  *configs.Parser
	Timings *timings.Recorder // nil without -timings

	Encrypted *encryption.Config // result of encryptionFor
	Snapshot  map[string][]byte  // files of a saved plan's configuration; nil if there is no such plan
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
	}
	if dir := s.Env("TF_DATA_DIR"); dir != "" {
		s.DataDir = dir
	}
	return s
}

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
