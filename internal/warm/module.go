package warm

import (
	"context"
	"io"
	"sync"

	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/lint"
	"tofu/internal/session"
	"tofu/internal/states/statefile"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// Options are what the options of a command would say, for all questions about a root module.
type Options struct {
	Variables session.Variables // values of -var, -var-file and -var-unknown
	Lint      *lint.Selection   // rules of -lint; may be nil
}

// Module is a root module. It is safe for concurrent use.
type Module struct {
	core   *Core
	name   string
	root   session.RootModule
	memory session.Memory
	state  statefile.Last

	mu   sync.Mutex
	opts Options
}

// Name returns the name of the root module in its estate, or its directory.
func (m *Module) Name() string { return m.name }

// Dir returns the directory, relative to the working directory of the core.
func (m *Module) Dir() string { return m.root.Dir }

// Answer has the parts of every answer.
type Answer struct {
	// Diagnostics are the errors and warnings that a command would print. Their file names are relative
	// to the working directory of the core.
	Diagnostics tfdiags.Diagnostics
	// Revision is that of the files when the question was asked; see [Core.Revision].
	Revision int
	// Source returns the text of a file as it was for the answer, or nil.
	Source func(name string) []byte
}

// question is the run of one question.
type question struct {
	*session.Session
	Answer
	opts Options
}

// silent is a printer that only passes on events.
type silent struct{ observe func(engine.Event) }

func (silent) Diagnostics(tfdiags.Diagnostics) {}
func (silent) Plan(*ui.PlanView)               {}
func (silent) State(*ui.StateView) error       { return nil }
func (silent) Message(ui.Message)              {}

func (s silent) Event(e engine.Event) {
	if s.observe != nil {
		s.observe(e)
	}
}

// ask runs a question in a session of its own. The error of the question becomes its diagnostics; ask
// returns an error only if ctx has ended. observe, which may be nil, receives the events.
func (m *Module) ask(
	ctx context.Context, observe func(engine.Event), work func(ctx context.Context, q *question) error,
) (Answer, error) {
	return m.run(ctx, observe, true, work)
}

func (m *Module) run(ctx context.Context, observe func(engine.Event), abandons bool,
	work func(ctx context.Context, q *question) error,
) (answer Answer, err error) {
	parser, revision := m.core.current()
	process := *m.core.process
	process.Parser, process.Interrupts = parser, terminal.NewInterrupts()
	ctx, end := interrupted(ctx, &process, abandons)
	defer end()
	m.mu.Lock()
	q := &question{opts: m.opts}
	m.mu.Unlock()
	q.Session = m.core.session(&process, m.root, observe)
	q.LastState = &m.state
	defer q.Session.Close()
	q.Revision, q.Answer.Source = revision, q.Session.Source
	defer func() {
		if crash := recover(); crash != nil {
			c := tfdiags.CrashOf(crash)
			err = tfdiags.Errorf("The question crashed", "This is a bug of the program. What it was doing is lost; other "+
				"questions go on: %v\n\n%s", c.Problem, c.Stack)
		}
		answer = q.Answer
		answer.Diagnostics = answer.Diagnostics.Append(q.Warnings.Take()...).AppendError(err).AppendError(q.Unreleased())
		err = context.Cause(ctx)
	}()
	return Answer{}, work(ctx, q)
}

// session returns the session of one question.
func (c *Core) session(process *session.Process, m session.RootModule, observe func(engine.Event)) *session.Session {
	term := terminal.New(&terminal.Streams{In: eof{}, Out: io.Discard, Err: io.Discard})
	term.Printer, term.Scripted = silent{observe}, true
	base := session.New(process, c.workDir, term)
	base.Plugins, base.Clients = c.plugins, c.clients
	s := base.At(m, term)
	s.InitCommand = "tofu init"
	return s
}

// eof is an input without content.
type eof struct{}

func (eof) Read([]byte) (int, error) { return 0, io.EOF }

// Diagnose checks the configuration and its tests as `tofu validate` does. It needs neither the state
// nor values of variables.
func (m *Module) Diagnose(ctx context.Context) (Answer, error) {
	return m.ask(ctx, nil, func(ctx context.Context, q *question) error {
		return q.Validate(ctx, session.ValidateOptions{Variables: q.opts.Variables, Lint: q.opts.Lint,
			Tests: configs.DefaultTestDirectory})
	})
}
