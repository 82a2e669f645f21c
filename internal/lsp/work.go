package lsp

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"tofu/internal/lsp/protocol"
	"tofu/internal/ui/planview"
	"tofu/internal/warm"
	"tofu/internal/warm/frames"
)

// pause is the time that the worker waits for further changes before it looks at them.
const pause = 150 * time.Millisecond

// work looks at root modules that have changed, until ctx ends. It first shows what validation finds,
// which takes less time, and then what the plan says.
func (s *server) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		run, cancel := context.WithCancel(ctx)
		s.mu.Lock()
		s.cancel = cancel
		dirs := slices.Sorted(maps.Keys(s.pending))
		clear(s.pending)
		s.mu.Unlock()
		_, done := frames.Answer(requestFailed, func() (any, error) { s.look(run, dirs); return nil, nil })
		interrupted := run.Err() != nil
		s.mu.Lock()
		s.cancel = nil
		if interrupted {
			for _, dir := range dirs {
				s.pending[dir] = true // together with what has changed in the meantime
			}
		}
		s.mu.Unlock()
		cancel()
		if done != nil {
			s.say(protocol.MessageTypeError, done.Error())
		}
		if interrupted && ctx.Err() == nil {
			select {
			case s.changed <- struct{}{}:
			default:
			}
		}
	}
}

// look checks and plans the root modules that use some directories, and the open ones that read their outputs.
func (s *server) look(ctx context.Context, dirs []string) {
	s.mu.Lock()
	folders := slices.Clone(s.folders)
	s.mu.Unlock()
	layout := s.core.Layout(ctx, folders, s.options)
	s.mu.Lock()
	if layout != nil {
		s.layout = layout
	}
	s.mu.Unlock()
	var list []string
	for _, dir := range dirs {
		list = append(list, s.users(dir)...)
	}
	done := map[string]bool{}
	for ; len(list) > 0 && ctx.Err() == nil; list = list[1:] {
		root := list[0]
		if done[root] {
			continue
		}
		done[root] = true
		s.lookAt(ctx, root)
		s.mu.Lock()
		for _, reader := range s.layout.Readers[root] {
			if s.views[reader] != nil {
				list = append(list, reader)
			}
		}
		s.mu.Unlock()
	}
}

// maxRoots is the number of root modules that are planned for one module that they share.
const maxRoots = 3

// users returns the root modules that use a directory, but not more than maxRoots. The directory itself
// counts as one if no root module is known to use it.
func (s *server) users(dir string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.layout.Users[dir]
	if len(list) == 0 {
		return []string{dir}
	}
	return list[:min(len(list), maxRoots)]
}

// lookAt checks and plans a root module, and publishes what was found.
func (s *server) lookAt(ctx context.Context, root string) {
	m, err := s.core.Open(root, s.options)
	s.mu.Lock()
	if member := s.layout.Modules[root]; err == nil && member != nil {
		m = member
	}
	next := &view{root: root, base: s.workDir, evaluating: &sync.Mutex{}}
	if v := s.views[root]; v != nil {
		*next = *v
		next.outdated = true
	}
	s.mu.Unlock()
	if err != nil { // the directory has disappeared, or has no configuration any more
		s.mu.Lock()
		delete(s.views, root)
		s.mu.Unlock()
		s.publish()
		return
	}
	if next.config == nil {
		if loaded, err := m.Load(ctx); err == nil && loaded.Config != nil {
			next.config, next.schemas = loaded.Config, loaded.Schemas
			s.put(next)
		}
	}
	answer, err := m.Diagnose(ctx)
	if err != nil {
		return
	}
	checked := *next
	checked.diagnostics = answer.Diagnostics
	s.setHide(ctx, &checked, m)
	s.put(&checked)
	s.publish()
	plan, err := m.Plan(ctx, warm.PlanOptions{})
	if err == nil && plan.View == nil { // perhaps because of another root module
		plan, err = m.Plan(ctx, warm.PlanOptions{Alone: true})
	}
	if err != nil {
		return
	}
	planned := checked
	s.addPlan(ctx, &planned, m, plan)
	s.setHide(ctx, &planned, m)
	if ctx.Err() != nil {
		return
	}
	s.put(&planned)
	s.publish()
	s.redraw()
}

// addPlan adds a plan to a view. If nothing could be planned, the view keeps the older plan, but gets
// the present configuration as far as it can be loaded.
func (s *server) addPlan(ctx context.Context, v *view, m *warm.Module, plan *warm.Plan) {
	if plan.View == nil {
		if loaded, err := m.Load(ctx); err == nil && loaded.Config != nil && loaded.Config.Module != nil {
			v.config = loaded.Config
			if loaded.Schemas != nil {
				v.schemas = loaded.Schemas
			}
		}
		for _, d := range plan.Diagnostics.Dedup(v.diagnostics) {
			v.diagnostics = v.diagnostics.Append(d)
		}
		return
	}
	v.plan, v.outdated = plan, false
	v.config, v.schemas = plan.View.Config, plan.View.Schemas
	v.shown = planview.New(plan.View.Source(), planview.Options{})
	v.values, _ = plan.Values(ctx)
	v.evaluating = &sync.Mutex{}
}

// setHide sets hide. The secrets are looked for when the first text needs it.
func (s *server) setHide(ctx context.Context, v *view, m *warm.Module) {
	plan, outdated := v.plan, v.outdated
	v.hide = sync.OnceValue(func() func(string) string {
		secrets := s.core.Secrets()
		if plan != nil {
			secrets.AddPlan(plan.View)
		}
		if plan == nil || outdated {
			secrets.AddLoaded(context.WithoutCancel(ctx), m)
		}
		return secrets.Hider()
	})
}

func (s *server) put(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.views[v.root] = v
}

// publish sends the diagnostics of all open root modules.
func (s *server) publish() {
	s.mu.Lock()
	views := slices.Collect(maps.Values(s.views))
	s.mu.Unlock()
	byFile := map[string][]protocol.Diagnostic{}
	for _, v := range views {
		for path, list := range v.findings(s.read) {
			for _, d := range list {
				same := func(other protocol.Diagnostic) bool { return other.Range == d.Range && other.Message == d.Message }
				if !slices.ContainsFunc(byFile[path], same) {
					byFile[path] = append(byFile[path], d)
				}
			}
		}
	}
	s.mu.Lock()
	for path := range s.shown {
		if byFile[path] == nil {
			byFile[path] = []protocol.Diagnostic{}
		}
	}
	versions := maps.Clone(s.texts)
	s.shown = map[string]bool{}
	for path, list := range byFile {
		if len(list) > 0 {
			s.shown[path] = true
		}
	}
	s.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(byFile)) {
		s.notify("textDocument/publishDiagnostics", &protocol.PublishDiagnosticsParams{Uri: uriOf(path),
			Version: versions[path], Diagnostics: byFile[path]})
	}
}

// notify sends a notification. It fails only if the client has gone, which ends the server.
func (s *server) notify(method string, params any) {
	_ = s.conn.Notify(context.Background(), method, params)
}

func (s *server) say(typ protocol.MessageType, text string) {
	s.notify("window/showMessage", &protocol.ShowMessageParams{Type: typ, Message: text})
}

// redraw asks the editor for lenses and hints again.
func (s *server) redraw() {
	w := s.client.Workspace
	if w == nil {
		return
	}
	if w.CodeLens != nil && w.CodeLens.RefreshSupport {
		s.conn.Call(context.Background(), "workspace/codeLens/refresh", nil)
	}
	if w.InlayHint != nil && w.InlayHint.RefreshSupport {
		s.conn.Call(context.Background(), "workspace/inlayHint/refresh", nil)
	}
}
