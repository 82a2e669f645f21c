package enginetest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/tools/txtar"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Session is a cloud with a state, to which one configuration after the other is applied.
type Session struct {
	Cloud *Cloud
	State *states.State
	dir   string
}

// NewSession starts with nothing. dir is an empty folder for configurations.
func NewSession(dir string) *Session {
	return &Session{Cloud: &Cloud{}, State: states.New(), dir: dir}
}

// Run carries out an archive: each section named N.tf is a step that is planned and applied, an "edit N" section changes objects first
// (lines "ID ATTR VALUE" or "ID" to delete), an "options N" section sets options (lines -destroy, -refresh-only, -refresh=false,
// -target=…, -exclude=…, -replace=…). The result has the same sections with the golden ones, named "N plan", "N calls", "N state" and
// "N problems", filled in.
func Run(ar *txtar.Archive, dir string) (*txtar.Archive, error) {
	s := NewSession(dir)
	out := &txtar.Archive{Comment: ar.Comment}
	section := func(name string) string {
		for _, f := range ar.Files {
			if f.Name == name {
				return string(f.Data)
			}
		}
		return ""
	}
	for _, f := range ar.Files {
		base, isStep := strings.CutSuffix(f.Name, ".tf")
		if !isStep && (strings.HasPrefix(f.Name, "edit ") || strings.HasPrefix(f.Name, "options ") || strings.Contains(f.Name, "/")) {
			out.Files = append(out.Files, f)
		}
		if !isStep || strings.Contains(base, "/") {
			continue
		}
		out.Files = append(out.Files, f)
		s.edit(section("edit " + base))
		files := map[string]string{"main.tf": string(f.Data)}
		for _, other := range ar.Files {
			if name, ok := strings.CutPrefix(other.Name, base+"/"); ok {
				files[name] = string(other.Data)
			}
		}
		got, err := s.Step(files, section("options "+base))
		if err != nil {
			return nil, err
		}
		for _, part := range []string{"problems", "plan", "calls", "state"} {
			if text := got[part]; text != "" {
				out.Files = append(out.Files, txtar.File{Name: base + " " + part, Data: []byte(text)})
			}
		}
	}
	return out, nil
}

func (s *Session) edit(text string) {
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSpace(line), " ", 3)
		switch len(parts) {
		case 1:
			s.Cloud.Edit(parts[0], "", "")
		case 3:
			s.Cloud.Edit(parts[0], parts[1], parts[2])
		}
	}
}

// Load loads a configuration.
func (s *Session) Load(files map[string]string) (*configs.Config, tfdiags.Diagnostics, error) {
	dir, err := os.MkdirTemp(s.dir, "step")
	if err != nil {
		return nil, nil, err
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return nil, nil, err
		}
	}
	cfg, diags := configs.LoadRoot(dir, &configs.LoadOptions{Resolve: func(req *configs.ModuleRequest) (string, string, tfdiags.Diagnostics) {
		return req.LocalDir(), "", nil
	}})
	return cfg, diags, nil
}

// Env gives an environment with the fake provider and nothing else.
func (s *Session) Env() *engine.Env {
	start := func(_ context.Context, addr addrs.Provider) (providers.Interface, error) {
		if addr != Address {
			return nil, fmt.Errorf("there is only the provider fake, not %s", addr)
		}
		return &Provider{Cloud: s.Cloud}, nil
	}
	return &engine.Env{
		Provider: start,
		Schema: func(ctx context.Context, addr addrs.Provider) (*providers.Schema, tfdiags.Diagnostics) {
			p, err := start(ctx, addr)
			if err != nil {
				return nil, tfdiags.Diagnostics{}.Append(err)
			}
			return p.Schema(ctx)
		},
		Workspace: "default", RootModule: ".",
	}
}

// Step plans and applies one configuration and describes what happened.
func (s *Session) Step(files map[string]string, options string) (map[string]string, error) {
	out := map[string]string{}
	cfg, diags, err := s.Load(files)
	if err != nil {
		return nil, err
	}
	problems := func() { out["problems"] = describeProblems(diags) }
	defer problems()
	if diags.HasErrors() {
		return out, nil
	}
	opts, err := parseOptions(options)
	if err != nil {
		return nil, err
	}
	diags = diags.Append(engine.Validate(context.Background(), cfg, s.Env()))
	if diags.HasErrors() {
		return out, nil
	}
	plan, more := engine.Plan(context.Background(), cfg, s.State, s.Env(), opts)
	diags = diags.Append(more)
	if plan != nil {
		out["plan"] = describePlan(plan)
	}
	if more.HasErrors() {
		return out, nil
	}
	s.Cloud.Log()
	state, more := engine.Apply(context.Background(), cfg, plan, s.Env(), nil)
	diags = diags.Append(more)
	s.State = state
	out["calls"] = strings.Join(s.Cloud.Log(), "\n")
	if out["calls"] != "" {
		out["calls"] += "\n"
	}
	out["state"] = Describe(state)
	return out, nil
}

func parseOptions(text string) (*engine.PlanOptions, error) {
	opts := &engine.PlanOptions{}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		var diags tfdiags.Diagnostics
		var target addrs.Target
		switch name {
		case "-destroy":
			opts.Mode = plans.Destroy
		case "-refresh-only":
			opts.Mode = plans.RefreshOnly
		case "-refresh":
			opts.SkipRefresh = value == "false"
		case "-target":
			target, diags = addrs.ParseTargetText(value)
			opts.Targets = append(opts.Targets, target)
		case "-exclude":
			target, diags = addrs.ParseTargetText(value)
			opts.Excludes = append(opts.Excludes, target)
		case "-replace":
			var addr addrs.AbsInstance
			addr, diags = addrs.ParseInstanceText(value)
			opts.ForceReplace = append(opts.ForceReplace, addr)
		default:
			return nil, fmt.Errorf("unknown option %q", line)
		}
		if diags.HasErrors() {
			return nil, diags.Err()
		}
	}
	return opts, nil
}

func describeProblems(diags tfdiags.Diagnostics) string {
	var lines []string
	for _, d := range diags {
		line := d.Severity.String() + " "
		if d.Subject != nil {
			line += fmt.Sprintf("%s:%d ", filepath.Base(d.Subject.Filename), d.Subject.Start.Line)
		}
		lines = append(lines, line+d.Summary+"\n")
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}

func describePlan(plan *plans.Plan) string {
	var b strings.Builder
	for _, c := range plan.Changes.Instances {
		if c.Action == plans.NoOp && !c.Moved() && c.Importing == nil {
			continue
		}
		fmt.Fprintf(&b, "%s %s", c.Action, c.Addr)
		if c.Deposed != "" {
			b.WriteString(" (deposed)")
		}
		if c.Moved() {
			fmt.Fprintf(&b, " (from %s)", c.PrevAddr)
		}
		if c.Importing != nil {
			b.WriteString(" (import " + c.Importing.ID + ")")
		}
		if c.Reason != "" {
			b.WriteString(" " + string(c.Reason))
		}
		b.WriteByte('\n')
	}
	for _, o := range plan.Changes.Outputs {
		if o.Action != plans.NoOp {
			fmt.Fprintf(&b, "%s output %s\n", o.Action, o.Name)
		}
	}
	for _, d := range plan.Drift {
		fmt.Fprintf(&b, "drift %s %s\n", d.Action, d.Addr)
	}
	if plan.Errored {
		b.WriteString("errored\n")
	}
	return b.String()
}

// Describe writes a state with one line for each object.
func Describe(s *states.State) string {
	var b strings.Builder
	for _, r := range s.Sorted() {
		for _, key := range r.SortedKeys() {
			inst := r.Instances[key]
			objs := []*states.Object{inst.Current}
			for _, o := range inst.Deposed {
				objs = append(objs, o)
			}
			for i, o := range objs {
				if o == nil {
					continue
				}
				fmt.Fprintf(&b, "%s", r.Addr.Instance(key))
				if i > 0 {
					b.WriteString(" (deposed)")
				}
				describeObject(&b, o)
			}
		}
	}
	for _, name := range s.OutputNames() {
		fmt.Fprintf(&b, "output %s = %s\n", name, describeValue(s.Output(name).Value))
	}
	return b.String()
}

func describeObject(b *strings.Builder, o *states.Object) {
	if v, err := o.Decode(thing.ImpliedType()); err == nil {
		v, _ = v.UnmarkDeep()
		fmt.Fprintf(b, ": %s", textOf(v, "id"))
		for _, attr := range []string{"v", "f"} {
			if text := textOf(v, attr); text != "" {
				fmt.Fprintf(b, " %s=%s", attr, text)
			}
		}
	}
	if o.Status == states.Tainted {
		b.WriteString(" tainted")
	}
	if o.CreateBeforeDestroy {
		b.WriteString(" cbd")
	}
	for i, dep := range o.Dependencies {
		if i == 0 {
			b.WriteString(" deps")
		}
		b.WriteString(" " + dep.String())
	}
	b.WriteByte('\n')
}

func describeValue(v cty.Value) string {
	return strings.TrimPrefix(fmt.Sprintf("%#v", v), "cty.")
}
