// Package api is the engine as a library: it plans and applies configurations that a program holds in
// memory, with states and provider programs that the program hands over.
//
//	c, err := api.Load(ctx, api.Source{Files: map[string][]byte{"main.tf": text}})
//	plan, err := c.Plan(ctx, api.PlanOptions{})
//	fmt.Println(plan.Changes())
//	result, err := plan.Apply(ctx)
//
// Everything that this package exports is stable within a major version: fields, methods and functions
// are only added, and JSON documents are those of the commands. It reads no environment variables and no
// CLI configuration, opens no backend and downloads nothing. A backend block has no effect.
package api

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/builtin"
	"tofu/internal/configs"
	"tofu/internal/configs/inputs"
	"tofu/internal/depsfile"
	"tofu/internal/engine"
	"tofu/internal/explain"
	"tofu/internal/plans"
	"tofu/internal/plugin"
	"tofu/internal/providers"
	"tofu/internal/provisioner"
	"tofu/internal/session"
	"tofu/internal/states/statefile"
	"tofu/internal/states/statemgr"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
	"tofu/internal/version"
)

// Source is a configuration and what it needs. Only Files is required.
type Source struct {
	// Files has the texts of the configuration by slash-separated path. The root module is in the top
	// directory; modules with local sources are below it.
	Files map[string][]byte
	// Variables sets variables of the root module, as texts in the form of -var.
	Variables map[string]string
	// Workspace is the value of terraform.workspace; "" means "default".
	Workspace string
	// ReadState returns the state snapshot, or nil without one. A nil function means no state.
	ReadState func(context.Context) ([]byte, error)
	// WriteState stores a snapshot, completely or not at all. It is called at intervals during an apply
	// and at its end. It is required for an apply.
	WriteState func(context.Context, []byte) error
	// Provider returns the path of the program of a provider, such as "registry.opentofu.org/hashicorp/aws".
	// A nil function means that only the built-in provider exists.
	Provider func(ctx context.Context, source string) (program string, err error)
	// Dir is an existing directory for the journal of a running apply. If the process is killed, the next
	// plan with the same directory continues from there. "" means a temporary directory.
	Dir string
}

// Problem is an error or a warning.
type Problem struct {
	Warning         bool
	Summary, Detail string
	File            string // "" if it has no place
	Line            int
}

// Problems is the error of all functions of this package if the input is wrong: at least one Problem is
// not a warning.
type Problems []Problem

// Error implements error.
func (p Problems) Error() string {
	var texts []string
	for _, one := range p {
		if one.Warning {
			continue
		}
		text := one.Summary
		if one.Detail != "" {
			text += ": " + one.Detail
		}
		if one.File != "" {
			text = fmt.Sprintf("%s:%d: %s", one.File, one.Line, text)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n")
}

func problems(diags tfdiags.Diagnostics) Problems {
	var out Problems
	for _, d := range diags {
		one := Problem{Warning: d.Severity == tfdiags.Warning, Summary: d.Summary, Detail: d.Detail}
		if d.Subject != nil {
			one.File, one.Line = filepath.ToSlash(d.Subject.Filename), d.Subject.Start.Line
		}
		out = append(out, one)
	}
	return out
}

// failure returns an error as Problems.
func failure(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return problems(tfdiags.FromError(err))
}

// Config is a loaded configuration. It doesn't change, and is safe for concurrent use.
type Config struct {
	source    Source
	config    *configs.Config
	variables map[string]engine.Variable
	warnings  tfdiags.Diagnostics
}

// Load parses and checks a configuration. The files must not be changed afterwards.
func Load(ctx context.Context, source Source) (*Config, error) {
	c := &Config{source: source}
	parser := configs.NewParser(memory(source.Files))
	if !parser.IsModuleDir(".") {
		return nil, Problems{{Summary: "No configuration files", Detail: "Source.Files has no *.tf, *.tofu, *.tf.json or " +
			"*.tofu.json in the top directory."}}
	}
	given := map[string]configs.Given{}
	for name, text := range source.Variables {
		given[name] = configs.Given{Text: text, From: "the program", Undeclared: configs.UndeclaredError}
	}
	opts := &configs.LoadOptions{Parser: parser, Variables: given,
		Workspace: source.Workspace, Resolve: local}
	var err error
	if c.config, err = configs.LoadRoot(ctx, ".", opts, c.warnings.Add); err != nil {
		return nil, failure(err)
	}
	values, err := inputs.Values(given, c.config.Module.Variables, c.warnings.Add)
	errs := tfdiags.FromError(err)
	for _, v := range inputs.Missing(values, c.config.Module.Variables) {
		errs = errs.Append(v.NoValue())
	}
	if errs.HasErrors() {
		return nil, failure(errs.Err())
	}
	c.variables = map[string]engine.Variable{}
	for name, v := range values {
		c.variables[name] = engine.Variable{Value: v.Value, Range: v.Range, From: v.From}
	}
	return c, nil
}

// local resolves modules with local sources.
func local(_ context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
	if req.Source.Kind != addrs.LocalModule {
		return configs.ResolvedModule{}, tfdiags.Errorf("Module not available", "Only modules with local sources, such as "+
			"\"./network\", can be used here.").At(req.Call.SourceRange)
	}
	return configs.ResolvedModule{Dir: req.LocalDir()}, nil
}

// Warnings returns the warnings about the configuration.
func (c *Config) Warnings() Problems { return problems(c.warnings) }

// PlanOptions select the kind of plan. The zero value is a plan to match the configuration.
type PlanOptions struct {
	Destroy     bool
	RefreshOnly bool     // only find out what was changed outside
	NoRefresh   bool     // don't read objects
	Targets     []string // addresses, as of -target
}

// Plan is a plan. It must be applied at most once, and closed.
type Plan struct {
	config   *Config
	run      *run
	plan     *plans.Plan
	view     *ui.PlanView
	warnings tfdiags.Diagnostics
	prior    *statemgr.Snapshot
}

// Plan plans. The plan holds provider processes until it is closed.
func (c *Config) Plan(ctx context.Context, opts PlanOptions) (_ *Plan, err error) {
	mode := plans.Normal
	switch {
	case opts.Destroy && opts.RefreshOnly:
		return nil, Problems{{Summary: "Incompatible plan options", Detail: "Destroy and RefreshOnly exclude each other."}}
	case opts.Destroy:
		mode = plans.Destroy
	case opts.RefreshOnly:
		mode = plans.RefreshOnly
	}
	with := &engine.PlanOptions{Mode: mode, SkipRefresh: opts.NoRefresh, Variables: c.variables, Defer: true}
	for _, text := range opts.Targets {
		target, err := addrs.ParseTargetText(text)
		if err != nil {
			return nil, failure(err)
		}
		with.Targets = append(with.Targets, target)
	}
	r, err := c.start()
	if err != nil {
		return nil, failure(err)
	}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	p := &Plan{config: c, run: r}
	r.env.Warn = p.warnings.Add
	p.prior, err = r.states.Read(ctx, p.warnings.Add)
	if err == nil {
		quiet := *r.env
		quiet.Warn = tfdiags.Drop // planning reports the same warnings
		err = engine.Validate(ctx, c.config, &quiet)
	}
	if err == nil {
		p.plan, err = engine.Plan(ctx, c.config, p.prior.State, r.env, with)
	}
	if err != nil {
		return nil, failure(err)
	}
	schemas := map[addrs.Provider]*providers.Schema{}
	for addr := range session.Requirements(c.config, p.plan.Prior) {
		schemas[addr], _ = r.env.Schema(ctx, addr)
	}
	p.view = &ui.PlanView{Plan: p.plan, Config: c.config,
		Schemas: func(p addrs.Provider) *providers.Schema { return schemas[p] }}
	return p, nil
}

// run has what a plan and its apply need.
type run struct {
	env       *engine.Env
	pool      *plugin.Pool
	states    *statemgr.Manager
	temporary string
}

func (c *Config) start() (*run, error) {
	r := &run{}
	dir := c.source.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "tofu-api-"); err != nil {
			return nil, fmt.Errorf("creating a directory for the journal: %w", err)
		}
		r.temporary = dir
	}
	r.states = statemgr.Open(store{&c.source}, "default", &statemgr.Options{DataDir: dir, WorkDir: dir, StoreID: "api",
		Log: slog.New(slog.DiscardHandler)})
	terraform := builtin.New(builtin.Options{})
	r.pool = &plugin.Pool{Keep: time.Minute,
		Builtin: map[addrs.Provider]func() providers.Interface{
			addrs.BuiltinTerraform: func() providers.Interface { return terraform }},
		Find: func(ctx context.Context, addr addrs.Provider) (plugin.Launch, error) {
			if c.source.Provider == nil {
				return plugin.Launch{}, fmt.Errorf("there is no program for the provider %s: set Source.Provider", addr)
			}
			program, err := c.source.Provider(ctx, addr.String())
			return plugin.Launch{Exec: program}, err
		}}
	workDir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	r.env = &engine.Env{Provider: r.pool.Provider, Reuse: r.pool.Reuse, Schema: r.pool.Schema,
		Provisioner: func(typ string) engine.Provisioner {
			if p := provisioner.Builtin(typ); p != nil {
				return p
			}
			return nil
		},
		Workspace: c.source.Workspace, WorkDir: workDir, RootModule: "."}
	if r.env.Workspace == "" {
		r.env.Workspace = "default"
	}
	return r, nil
}

func (r *run) close() {
	_ = r.pool.Close() // the processes end with this one at the latest
	if r.temporary != "" {
		_ = os.RemoveAll(r.temporary)
	}
}

// Close ends the providers of the plan.
func (p *Plan) Close() { p.run.close() }

// Change is the planned change of one object.
type Change struct {
	Address string
	Action  string // as in plan documents: "create", "update", "delete", "no-op" and so on
}

// Changes returns the planned changes in the order of addresses, without objects that stay as they are.
func (p *Plan) Changes() []Change {
	var out []Change
	for _, c := range p.plan.Changes.Instances {
		if c.Action != plans.NoOp {
			out = append(out, Change{c.Addr.String(), c.Action.String()})
		}
	}
	return out
}

// Warnings returns the warnings of the plan.
func (p *Plan) Warnings() Problems { return problems(p.warnings) }

// JSON returns the plan as `tofu show -json` writes a saved plan.
func (p *Plan) JSON() ([]byte, error) {
	var b bytes.Buffer
	err := ui.WritePlan(&b, p.view, version.String, version.Engine())
	return b.Bytes(), failure(err)
}

// Explain returns why something is in the plan, or why not, as `tofu explain -json` writes it.
func (p *Plan) Explain(ctx context.Context, address string) ([]byte, error) {
	subject, err := session.Explained(ctx, p.view, p.run.env, depsfile.NewLocks(nil))
	if err != nil {
		return nil, failure(err)
	}
	answer, err := explain.At(ctx, subject, address)
	if err != nil {
		return nil, failure(err)
	}
	var b bytes.Buffer
	err = answer.WriteJSON(&b)
	return b.Bytes(), failure(err)
}

// Result is the result of an apply.
type Result struct {
	State    []byte // the snapshot that was stored last
	Warnings Problems
	Deferred bool // whether the plan has left changes for another plan
}

// Apply applies the plan. It stores the state even after errors; then it returns both a result and an
// error. If ctx ends, nothing more is started, and what was started is finished and stored.
func (p *Plan) Apply(ctx context.Context) (*Result, error) {
	if p.config.source.WriteState == nil {
		return nil, Problems{{Summary: "No place for the state", Detail: "An apply needs Source.WriteState."}}
	}
	var warnings tfdiags.Diagnostics
	stop := make(chan struct{})
	defer context.AfterFunc(ctx, func() { close(stop) })()
	ctx = context.WithoutCancel(ctx)
	env := *p.run.env
	env.Warn, env.Stop, env.InDoubt = warnings.Add, stop, p.run.states.InDoubt
	env.Observe = func(e engine.Event) { session.Journal(p.run.states, e) }
	if err := p.run.states.Begin(ctx, &statemgr.Run{State: p.plan.Prior}); err != nil {
		return nil, failure(err)
	}
	st, err := engine.Apply(ctx, p.config.config, p.plan, &env, &engine.ApplyOptions{Variables: p.config.variables})
	err = tfdiags.Join(err, p.run.states.Save(ctx, st), p.run.states.Unlock())
	out := &Result{Warnings: problems(warnings), Deferred: p.plan.Defers()}
	if snapshot, readErr := p.run.states.Read(ctx, tfdiags.Drop); readErr == nil {
		var encodeErr error
		out.State, encodeErr = statefile.Encode(snapshot.File(), &statefile.Options{})
		err = tfdiags.Join(err, encodeErr)
	}
	return out, failure(err)
}

// store is a store of states over the functions of a source.
type store struct{ *Source }

func (s store) List(context.Context) ([]string, error) { return nil, nil }

func (s store) Get(ctx context.Context, _ string) ([]byte, error) {
	if s.ReadState == nil {
		return nil, nil
	}
	return s.ReadState(ctx)
}

func (s store) Put(ctx context.Context, _ string, data []byte) error { return s.WriteState(ctx, data) }

func (s store) Delete(context.Context, string) error {
	return errors.New("a state of a program can't be deleted here")
}

// memory is a file system with the files of a source.
type memory map[string][]byte

// ReadDir implements configs.FS.
func (m memory) ReadDir(dir string) ([]fs.DirEntry, error) {
	dir = filepath.ToSlash(filepath.Clean(dir))
	var out []fs.DirEntry
	for name := range m {
		if path.Dir(path.Clean(name)) == dir {
			out = append(out, entry(path.Base(name)))
		}
	}
	if len(out) == 0 && dir != "." {
		return nil, fmt.Errorf("%s: %w", dir, fs.ErrNotExist)
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return out, nil
}

// ReadFile implements configs.FS.
func (m memory) ReadFile(name string) ([]byte, error) {
	if text, ok := m[filepath.ToSlash(filepath.Clean(name))]; ok {
		return text, nil
	}
	return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
}

type entry string

func (e entry) Name() string               { return string(e) }
func (e entry) IsDir() bool                { return false }
func (e entry) Type() fs.FileMode          { return 0 }
func (e entry) Info() (fs.FileInfo, error) { return nil, fs.ErrNotExist }

// Output returns the planned value of a root output as JSON, or nil if the configuration has no such
// output. What is known only after the apply, and what is sensitive, is null.
func (p *Plan) Output(name string) []byte {
	o := p.plan.Changes.Output(name)
	if o == nil || o.After == cty.NilVal {
		return nil
	}
	return ui.DescribeValue(o.After).Value
}
