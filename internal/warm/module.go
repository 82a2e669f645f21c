package warm

import (
	"context"
	"io"
	"slices"
	"sync"

	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/lint"
	"tofu/internal/plans"
	"tofu/internal/providers"
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
	memory session.Memory
	state  statefile.Last

	mu     sync.Mutex
	root   session.RootModule
	opts   Options
	estate *Estate // nil if the root module was opened by itself
}

// Name returns the name of the root module in its estate, or its directory.
func (m *Module) Name() string { return m.name }

// Dir returns the directory, relative to the working directory of the core.
func (m *Module) Dir() string { return m.place().Dir }

func (m *Module) place() session.RootModule {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.root
}

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
	at     moment
	opts   Options
	estate *Estate // of the root module; nil if it was opened by itself
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
	return m.run(ctx, m.core.current(), observe, work)
}

// run is ask at a moment. If a process of a provider has ended since an earlier question, the question is
// asked again: then another process is started.
func (m *Module) run(ctx context.Context, at moment, observe func(engine.Event),
	work func(ctx context.Context, q *question) error,
) (Answer, error) {
	ended := func(d tfdiags.Diagnostic) bool { return d.Summary == providers.NoAnswer }
	answer, err := m.once(ctx, at, observe, true, work)
	if err == nil && slices.ContainsFunc(answer.Diagnostics, ended) {
		return m.once(ctx, at, observe, true, work)
	}
	return answer, err
}

// once runs a question. abandons is false for an apply, whose calls must not be abandoned.
func (m *Module) once(ctx context.Context, at moment, observe func(engine.Event), abandons bool,
	work func(ctx context.Context, q *question) error,
) (answer Answer, err error) {
	process := m.core.processAt(at)
	ctx, end := interrupted(ctx, process, abandons)
	defer end()
	m.mu.Lock()
	q := &question{at: at, opts: m.opts, estate: m.estate}
	root := m.root
	m.mu.Unlock()
	q.Session = m.core.session(m.core.base(process), root, observe)
	q.LastState = &m.state
	defer q.Session.Close()
	q.Revision, q.Answer.Source = at.revision, q.Session.Source
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

// prepare makes a question about a root module of an estate see the outputs that the states of others have.
func (m *Module) prepare(ctx context.Context, q *question) error {
	if q.estate == nil {
		return nil
	}
	member, err := q.estate.alone(ctx, q.at, m.name, plans.Destroy)
	if err != nil {
		return err
	}
	return member.Prepare(ctx, q.Session)
}

// processAt returns the process of the sessions of one question.
func (c *Core) processAt(at moment) *session.Process {
	out := *c.process
	out.Parser, out.Interrupts = at.parser, terminal.NewInterrupts()
	return &out
}

// base returns a session for the working directory.
func (c *Core) base(process *session.Process) *session.Session {
	out := session.New(process, c.workDir, quiet(nil))
	out.Plugins, out.Clients = c.plugins, c.clients
	return out
}

// session returns a session for a root module.
func (c *Core) session(base *session.Session, m session.RootModule, observe func(engine.Event)) *session.Session {
	s := base.At(m, quiet(observe))
	s.InitCommand = "tofu init"
	return s
}

// quiet returns a terminal that only passes on events.
func quiet(observe func(engine.Event)) *terminal.Terminal {
	term := terminal.New(&terminal.Streams{In: eof{}, Out: io.Discard, Err: io.Discard})
	term.Printer, term.Scripted = silent{observe}, true
	return term
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
