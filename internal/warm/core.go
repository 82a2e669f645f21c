package warm

import (
	"context"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"tofu/internal/backend"
	"tofu/internal/configs"
	"tofu/internal/plugin"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
)

// Core holds what questions about all root modules share. It is safe for concurrent use.
type Core struct {
	process *session.Process
	workDir string
	plugins *plugin.Shared
	clients *backend.Clients

	mu       sync.Mutex
	parser   *configs.Parser
	files    *view
	revision int
	modules  map[string]*Module
	estates  map[string]*Estate // by directories
}

// moment is the files as one question sees them.
type moment struct {
	parser   *configs.Parser
	texts    map[string][]byte // by absolute name
	revision int
}

// keepProviders is the time for which a configured provider process waits for another plan. Credentials that a
// provider has obtained may expire; it is configured again for each plan.
const keepProviders = 10 * time.Minute

// New returns a core for the root modules below a working directory, to which all paths are relative.
func New(p *session.Process, workDir string) *Core {
	f := &files{workDir: workDir, read: map[string]seenFile{}, listed: map[string]listing{}}
	c := &Core{process: p, workDir: workDir, clients: &backend.Clients{}, plugins: &plugin.Shared{Keep: keepProviders},
		files: &view{files: f, texts: map[string][]byte{}}, modules: map[string]*Module{}, estates: map[string]*Estate{}}
	c.parser = configs.NewParser(c.files)
	return c
}

// Close ends all provider processes. Questions that still run fail.
func (c *Core) Close() {
	if err := c.plugins.Close(); err != nil {
		c.process.Logs.Core.Warn("ending providers", "error", err)
	}
	c.clients.Close()
}

// SetText sets the text of a file, which need not exist, until DropText. The text must not be changed
// afterwards.
func (c *Core) SetText(name string, text []byte) {
	c.setTexts(func(texts map[string][]byte, abs func(string) string) { texts[abs(name)] = text })
}

// DropText takes back a text: the file on disk counts again.
func (c *Core) DropText(name string) {
	c.setTexts(func(texts map[string][]byte, abs func(string) string) { delete(texts, abs(name)) })
}

func (c *Core) setTexts(change func(texts map[string][]byte, abs func(string) string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	texts := maps.Clone(c.files.texts)
	change(texts, c.files.abs)
	next := &view{files: c.files.files, texts: texts}
	c.renew(next)
}

// renew makes a new parser unless nothing has changed since the last one. The caller holds c.mu.
func (c *Core) renew(with *view) {
	stale, more := with.stale()
	if len(stale) > 0 || with != c.files {
		c.files, c.parser = with, c.parser.Without(with, stale)
	}
	if len(stale) > 0 || more {
		c.revision++
	}
}

// current returns the present files.
func (c *Core) current() moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.renew(c.files)
	return moment{c.parser, c.files.texts, c.revision}
}

// Revision returns a number that grows when a file or a text changes that an answer was made of.
func (c *Core) Revision() int { return c.current().revision }

// Text returns the present text of a file as questions read it, or an error.
func (c *Core) Text(name string) ([]byte, error) {
	c.mu.Lock()
	v := c.files
	c.mu.Unlock()
	seen, err := v.load(name)
	return seen.text, err
}

// Open returns the root module in a directory. It is the same one for the same directory; the options
// of the last call count. A root module of an opened estate stays in it.
func (c *Core) Open(dir string, opts Options) (*Module, error) {
	rel, err := c.relative(dir)
	if err != nil {
		return nil, err
	}
	root := session.RootModule{Dir: rel}
	if known := c.Module(dir); known != nil {
		root = known.place()
		known.mu.Lock()
		e := known.estate
		known.mu.Unlock()
		if e != nil {
			e.mu.Lock()
			e.own[known.name] = opts
			e.mu.Unlock()
		}
	} else if err := session.RequireConfig(c.current().parser, rel); err != nil {
		return nil, err
	}
	return c.open(rel, root, opts), nil
}

// open returns the root module with a name.
func (c *Core) open(name string, root session.RootModule, opts Options) *Module {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.modules[name]
	if m == nil {
		m = &Module{core: c, name: name}
		c.modules[name] = m
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.root, m.opts = root, opts
	return m
}

// Module returns the opened root module with a name, which is its directory unless it belongs to an
// estate, or nil.
func (c *Core) Module(name string) *Module {
	rel, err := c.relative(name)
	if err != nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.modules[rel]
}

func (c *Core) relative(dir string) (string, error) {
	if filepath.IsAbs(dir) {
		rel, err := filepath.Rel(c.workDir, dir)
		if err != nil {
			return "", tfdiags.Errorf("Can't open the directory", "%s can't be reached from the working directory %s.", dir,
				c.workDir)
		}
		return rel, nil
	}
	return filepath.Clean(dir), nil
}

// patience is the time that a canceled question may take to end in an orderly way.
const patience = 5 * time.Second

// interrupted returns a context that ends as after an interrupt when ctx ends, and as after a second
// one after some more time. more is false for an apply, whose calls must not be abandoned.
func interrupted(ctx context.Context, p *session.Process, more bool) (context.Context, func()) {
	first, cancel := p.Interrupts.Context(context.WithoutCancel(ctx))
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		p.Interrupts.Add()
		if !more {
			return
		}
		select {
		case <-time.After(patience):
			p.Interrupts.Add()
		case <-done:
		}
	})
	return first, func() { stop(); close(done); cancel() }
}
