package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"slices"
	"time"

	"golang.org/x/exp/jsonrpc2"

	"tofu/internal/addrs"
	"tofu/internal/configs/inputs"
	"tofu/internal/engine"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/ui/planview"
	"tofu/internal/version"
	"tofu/internal/warm"
)

// method answers requests.
type method struct {
	now  bool // whether it runs before the next message is read
	call func(ctx context.Context, c *client, req *jsonrpc2.Request) (any, error)
}

// in returns a method whose parameters have the type P.
func in[P any](now bool, call func(*client, context.Context, *P) (any, error)) method {
	return method{now, func(ctx context.Context, c *client, req *jsonrpc2.Request) (any, error) {
		p := new(P)
		if err := params(req, p); err != nil {
			return nil, err
		}
		return call(c, ctx, p)
	}}
}

// methods returns the methods by name.
func methods() map[string]method {
	return map[string]method{
		"initialize":  in(true, (*client).initialize),
		"open":        in(true, (*client).open),
		"text/set":    in(true, (*client).setText),
		"text/drop":   in(true, (*client).dropText),
		"watch":       in(true, (*client).startWatching),
		"diagnostics": in(false, (*client).diagnostics),
		"plan":        in(false, (*client).plan),
		"explain":     in(false, (*client).explain),
		"graph":       in(false, (*client).graph),
		"evaluate":    in(false, (*client).evaluate),
		"outputs":     in(false, (*client).outputs),
		"state":       in(false, (*client).state),
		"drift":       in(false, (*client).drift),
		"propose":     in(false, (*client).propose),
		"apply":       in(false, (*client).apply),
		"shutdown":    in(true, (*client).shutdown),
	}
}

type none struct{}

type hello struct {
	Protocol int `json:"protocol"`
}

func (c *client) initialize(_ context.Context, p *hello) (any, error) {
	if p.Protocol != 0 && p.Protocol != Protocol {
		return nil, jsonrpc2.NewError(3, "this program has version 1 of the protocol")
	}
	return map[string]any{"protocol": Protocol, "version": version.String, "engine": version.Engine(),
		"methods": slices.Sorted(maps.Keys(c.methods))}, nil
}

// at are the parameters of all methods about a root module.
type at struct {
	Root string `json:"root"` // the name that "open" has returned
}

// root returns an opened root module.
func (c *client) root(ctx context.Context, a at) (*warm.Module, error) {
	if m := c.core.Find(ctx, a.Root); m != nil {
		return m, nil
	}
	return nil, jsonrpc2.NewError(4, "the root module \""+a.Root+"\" is not open: send \"open\" first")
}

type opening struct {
	Dir           string            `json:"dir"`
	Estate        bool              `json:"estate"`
	Variables     map[string]string `json:"variables"`
	VariableFiles []string          `json:"variable_files"`
}

type openedRoot struct {
	Name string `json:"name"`
	Dir  string `json:"dir"`
}

func (c *client) open(ctx context.Context, p *opening) (any, error) {
	opts := c.options
	opts.Variables.Vars = slices.Clone(opts.Variables.Vars)
	for _, file := range p.VariableFiles {
		opts.Variables.Vars = append(opts.Variables.Vars, inputs.Flag{File: true, Text: file})
	}
	for _, name := range slices.Sorted(maps.Keys(p.Variables)) {
		opts.Variables.Vars = append(opts.Variables.Vars, inputs.Flag{Text: name + "=" + p.Variables[name]})
	}
	if !p.Estate {
		m, err := c.core.Open(p.Dir, opts)
		if err != nil {
			return nil, err
		}
		return map[string]any{"roots": []openedRoot{{m.Name(), m.Dir()}}}, nil
	}
	estate, err := c.core.OpenEstate(ctx, p.Dir, opts)
	if estate == nil {
		return nil, err
	}
	list := []openedRoot{}
	for _, m := range estate.Modules() {
		list = append(list, openedRoot{m.Name(), m.Dir()})
	}
	problems, encodeErr := c.diagnosticsJSON(warm.Answer{Diagnostics: tfdiags.FromError(err)})
	return map[string]any{"roots": list, "diagnostics": problems}, encodeErr
}

type text struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

func (c *client) setText(_ context.Context, p *text) (any, error) {
	name, err := c.own(c, p.Path)
	if err != nil {
		return nil, err
	}
	c.core.SetText(name, []byte(p.Text))
	return none{}, nil
}

type dropping struct {
	Path string `json:"path"`
}

func (c *client) dropText(_ context.Context, p *dropping) (any, error) {
	name, err := c.own(c, p.Path)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	delete(c.owners, name)
	c.mu.Unlock()
	c.core.DropText(name)
	return none{}, nil
}

func (c *client) startWatching(_ context.Context, _ *none) (any, error) {
	if !c.watching {
		c.watching = true
		go c.watch(c.ctx)
	}
	return map[string]int{"revision": c.core.Revision()}, nil
}

func (c *client) shutdown(_ context.Context, _ *none) (any, error) {
	time.AfterFunc(100*time.Millisecond, c.end) // after the answer
	return none{}, nil
}

// document returns what a function of package ui writes as JSON without white space.
func document(write func(io.Writer) error) (json.RawMessage, error) {
	var full, compact bytes.Buffer
	if err := write(&full); err != nil {
		return nil, err
	}
	if err := json.Compact(&compact, full.Bytes()); err != nil {
		return nil, err
	}
	return compact.Bytes(), nil
}

// diagnosticsJSON returns the document of `tofu validate -json`.
func (c *client) diagnosticsJSON(a warm.Answer) (json.RawMessage, error) {
	source := a.Source
	if source == nil {
		source = func(string) []byte { return nil }
	}
	return document(func(w io.Writer) error { return ui.WriteValidation(w, a.Diagnostics, source) })
}

// answer has the members of the results of all methods about a root module.
type answer struct {
	Revision    int             `json:"revision"`
	Diagnostics json.RawMessage `json:"diagnostics"`
}

func (c *client) answer(a warm.Answer) (answer, error) {
	doc, err := c.diagnosticsJSON(a)
	return answer{a.Revision, doc}, err
}

func (c *client) diagnostics(ctx context.Context, p *at) (any, error) {
	m, err := c.root(ctx, *p)
	if err != nil {
		return nil, err
	}
	found, err := m.Diagnose(ctx)
	if err != nil {
		return nil, err
	}
	return c.answer(found)
}

// planning are the parameters of methods that plan.
type planning struct {
	at
	warm.PlanRequest
	Progress any `json:"progress"` // a token for notifications
}

// progress returns an observer that sends events as notifications, in the form of the lines of
// `tofu plan -json`. It returns nil without a token.
func (c *client) progress(token any) func(engine.Event) {
	if token == nil {
		return nil
	}
	return ui.NewJSON(ui.Options{Out: progressWriter{c, token}, Sources: func(string) []byte { return nil }}).Event
}

type progressWriter struct {
	c     *client
	token any
}

// Write implements io.Writer for whole lines.
func (w progressWriter) Write(line []byte) (int, error) {
	if json.Valid(line) && !bytes.Contains(line, []byte(`"type":"version"`)) { // "initialize" has returned it
		w.c.notify("progress", map[string]any{"token": w.token, "event": json.RawMessage(bytes.TrimSpace(line))})
	}
	return len(line), nil
}

// planned is the result of methods that plan.
type planned struct {
	answer
	Counts *planview.Counts `json:"counts,omitempty"`
	// Read says when the oldest object was read that the plan takes from memory.
	Read *time.Time `json:"read,omitempty"`
	// Plan is the document of `tofu show -json`.
	Plan json.RawMessage `json:"plan,omitempty"`
}

func (c *client) planned(p *warm.Plan) (out planned, err error) {
	if out.answer, err = c.answer(p.Answer); err != nil || p.View == nil {
		return out, err
	}
	counts := planview.Count(p.View.Plan)
	out.Counts = &counts
	if !p.Read.IsZero() {
		out.Read = &p.Read
	}
	out.Plan, err = document(p.WriteJSON)
	return out, err
}

// prepare returns the root module of a request for a plan, and the plan's options.
func (c *client) prepare(ctx context.Context, p *planning) (m *warm.Module, opts warm.PlanOptions, err error) {
	if m, err = c.root(ctx, p.at); err != nil {
		return nil, opts, err
	}
	if opts, err = p.Options(); err != nil {
		return nil, opts, jsonrpc2.NewError(-32602, err.Error())
	}
	opts.Observe = c.progress(p.Progress)
	return m, opts, nil
}

func (c *client) plan(ctx context.Context, p *planning) (any, error) {
	m, opts, err := c.prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	plan, err := m.Plan(ctx, opts)
	if err != nil {
		return nil, err
	}
	return c.planned(plan)
}

// present returns a plan of the present files, with what is remembered of objects.
func (c *client) present(ctx context.Context, a at) (*warm.Plan, error) {
	m, err := c.root(ctx, a)
	if err != nil {
		return nil, err
	}
	return m.Present(ctx)
}

type about struct {
	at
	Address string `json:"address"`
}

func (c *client) explain(ctx context.Context, p *about) (any, error) {
	plan, err := c.present(ctx, p.at)
	if err != nil {
		return nil, err
	}
	why, err := plan.Explain(ctx, p.Address)
	if err != nil {
		return nil, err
	}
	return document(why.WriteJSON)
}

func (c *client) graph(ctx context.Context, p *about) (any, error) {
	plan, err := c.present(ctx, p.at)
	if err != nil {
		return nil, err
	}
	g, err := plan.Graph(ctx)
	if err == nil && p.Address != "" {
		g, err = g.Focus(p.Address, 1)
	}
	if err != nil {
		return nil, err
	}
	return document(g.WriteJSON)
}

type evaluating struct {
	at
	Module     string `json:"module"`
	Expression string `json:"expression"`
}

func (c *client) evaluate(ctx context.Context, p *evaluating) (any, error) {
	plan, err := c.present(ctx, p.at)
	if err != nil {
		return nil, err
	}
	in, err := addrs.ParseModuleInstanceText(p.Module)
	if err != nil {
		return nil, err
	}
	v, err := plan.Evaluate(ctx, in, p.Expression)
	if err != nil {
		return nil, err
	}
	return ui.DescribeValue(v), nil
}

func (c *client) outputs(ctx context.Context, p *at) (any, error) {
	m, err := c.root(ctx, *p)
	if err != nil {
		return nil, err
	}
	st, err := m.State(ctx)
	if err != nil {
		return nil, err
	}
	head, err := c.answer(st.Answer)
	if err != nil || st.View == nil {
		return head, err
	}
	return struct {
		answer
		Outputs map[string]ui.ValueDocument `json:"outputs"`
	}{head, ui.DescribeOutputs(st.View.State.Outputs())}, nil
}

type selecting struct {
	at
	Addresses []string `json:"addresses"`
}

func (c *client) state(ctx context.Context, p *selecting) (any, error) {
	m, err := c.root(ctx, p.at)
	if err != nil {
		return nil, err
	}
	only, err := warm.Targets(p.Addresses)
	if err != nil {
		return nil, err
	}
	st, err := m.State(ctx, only...)
	if err != nil {
		return nil, err
	}
	out := struct {
		answer
		Serial  uint64          `json:"serial"`
		Lineage string          `json:"lineage"`
		State   json.RawMessage `json:"state,omitempty"`
	}{Serial: st.Serial, Lineage: st.Lineage}
	if out.answer, err = c.answer(st.Answer); err != nil || st.View == nil {
		return out, err
	}
	out.State, err = document(func(w io.Writer) error { return ui.WriteState(w, st.View, cmp.Or(st.Version, version.String)) })
	return out, err
}

type drifting struct {
	at
	Progress any `json:"progress"`
}

func (c *client) drift(ctx context.Context, p *drifting) (any, error) {
	m, err := c.root(ctx, p.at)
	if err != nil {
		return nil, err
	}
	drift, err := m.Drift(ctx, c.progress(p.Progress))
	if err != nil {
		return nil, err
	}
	out := struct {
		answer
		Drift json.RawMessage `json:"drift,omitempty"`
	}{}
	if out.answer, err = c.answer(drift.Answer); err != nil || drift.Report == nil {
		return out, err
	}
	out.Drift, err = document(drift.Report.JSON)
	return out, err
}

func (c *client) propose(ctx context.Context, p *planning) (any, error) {
	m, opts, err := c.prepare(ctx, p)
	if err != nil {
		return nil, err
	}
	proposal, err := m.Propose(ctx, opts)
	if err != nil {
		return nil, err
	}
	out := struct {
		planned
		Digest  string     `json:"digest,omitempty"`
		Expires *time.Time `json:"expires,omitempty"`
	}{Digest: proposal.Digest}
	if proposal.Digest != "" {
		out.Expires = &proposal.Expires
	}
	out.planned, err = c.planned(proposal.Plan)
	return out, err
}

type applying struct {
	at
	Digest   string         `json:"digest"`
	Approval *warm.Approval `json:"approval"`
	Progress any            `json:"progress"`
}

func (c *client) apply(ctx context.Context, p *applying) (any, error) {
	m, err := c.root(ctx, p.at)
	if err != nil {
		return nil, err
	}
	applied, err := m.Apply(ctx, p.Digest, p.Approval, c.progress(p.Progress))
	if err != nil && !applied.Begun {
		return nil, err
	}
	head, err := c.answer(applied.Answer)
	return struct {
		answer
		Begun   bool                        `json:"begun"`
		Counts  planview.Counts             `json:"counts"`
		Outputs map[string]ui.ValueDocument `json:"outputs"`
		Defers  bool                        `json:"defers"`
	}{head, applied.Begun, applied.Counts, ui.DescribeOutputs(applied.Outputs), applied.Defers}, err
}
