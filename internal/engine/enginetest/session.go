package enginetest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/engine/reads"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Session is a cloud with a state. Configurations are applied to it one after the other.
type Session struct {
	Cloud *Cloud
	State *states.State
	// Stop interrupts operations when it is closed; see engine.Env.Stop.
	Stop    chan struct{}
	dir     string
	abort   context.CancelFunc       // abandons the current operation
	deposed map[addrs.DeposedKey]int // numbers to show instead of the random keys
	past    map[string]pastState     // the state after each step, by the step's name
	created map[string]int           // the last step that created each object, by the object's ID
	deleted map[string]int           // the last step that deleted each object, by the object's ID
}

// pastState is the state after a step. Steps are counted from 1.
type pastState struct {
	state *states.State
	step  int
}

// remember stores the state after the step called name, and records which objects the step created
// and deleted.
func (s *Session) remember(name, calls string) {
	step := len(s.past) + 1
	s.past[name] = pastState{s.State.Clone(), step}
	for _, call := range strings.FieldsFunc(calls, func(r rune) bool { return r == ',' || r == '\n' }) {
		switch kind, id, _ := strings.Cut(strings.TrimSpace(call), " "); kind {
		case "create":
			s.created[id] = step
		case "delete":
			s.deleted[id] = step
		}
	}
}

// against returns the state after the step called name, as a Past that a plan can restore. It
// includes which objects were created and destroyed since that step.
func (s *Session) against(name string) *engine.Past {
	then := s.past[name]
	since := func(in *states.State, steps map[string]int) map[addrs.AbsInstance]bool {
		out := map[addrs.AbsInstance]bool{}
		for r := range in.Resources() {
			for key, inst := range r.Instances {
				var object struct{ ID string }
				if inst.Current == nil || json.Unmarshal(inst.Current.Attrs, &object) != nil {
					continue
				}
				if steps[object.ID] > then.step {
					out[r.Addr.Instance(key)] = true
				}
			}
		}
		return out
	}
	return &engine.Past{State: then.state, Created: since(s.State, s.created), Destroyed: since(then.state, s.deleted)}
}

// NewSession returns a Session with an empty state. dir is an empty directory for configurations.
func NewSession(dir string) *Session {
	return &Session{Cloud: &Cloud{}, State: states.New(), dir: dir, deposed: map[addrs.DeposedKey]int{},
		past: map[string]pastState{}, created: map[string]int{}, deleted: map[string]int{}}
}

// Load loads a configuration from the contents of its files.
func (s *Session) Load(
	files map[string]string, vars map[string]engine.Variable, warn tfdiags.Sink,
) (*configs.Config, error) {
	dir, err := os.MkdirTemp(s.dir, "step")
	if err != nil {
		return nil, err
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			return nil, err
		}
	}
	given := map[string]configs.Given{}
	for name, v := range vars {
		given[name] = configs.Given{Val: v.Value}
	}
	return configs.LoadRoot(context.Background(), dir, &configs.LoadOptions{Variables: given,
		Resolve: func(_ context.Context, req *configs.ModuleRequest) (configs.ResolvedModule, error) {
			return configs.ResolvedModule{Dir: req.LocalDir()}, nil
		}}, warn)
}

// Env returns an environment with the fake provider, under the names fake and other, the provisioner
// note, and a user who knows each argument that the state doesn't keep of a provider's last configuration.
func (s *Session) Env() *engine.Env {
	start := func(_ context.Context, addr addrs.Provider) (providers.Interface, error) {
		if addr != Address && addr != addrs.DefaultProvider("other") {
			return nil, fmt.Errorf("there are only the providers fake and other, not %s", addr)
		}
		return &Provider{Cloud: s.Cloud, Type: addr.Type}, nil
	}
	return &engine.Env{
		Provider: start,
		Schema: func(ctx context.Context, addr addrs.Provider) (*providers.Schema, tfdiags.Diagnostics) {
			p, err := start(ctx, addr)
			if err != nil {
				return nil, tfdiags.FromError(err)
			}
			return p.Schema(ctx)
		},
		Provisioner: func(typ string) engine.Provisioner {
			if typ != "note" {
				return nil
			}
			return &Note{s.Cloud}
		},
		ProviderSecret: func(context.Context, addrs.ProviderInstance, string, string) (string, bool) {
			return "given", true
		},
		Workspace: "default", RootModule: ".", Stop: s.Stop, CheckReads: true,
	}
}

// Abort abandons the running calls of the current operation.
func (s *Session) Abort() { s.abort() }

// Step is a configuration with options for planning and applying it.
type Step struct {
	Files     map[string]string
	Plan      engine.PlanOptions
	Apply     engine.ApplyOptions
	Log       []string // kinds of calls to log in addition to changes
	PlanOnly  bool
	Details   bool
	Rewritten bool // drop dependencies on instances from the state first, as if another program had written it
	Workers   int  // parallelism; 0 is the default
	Again     bool
	Interrupt func() // called before the apply
	Against   string // name of the step whose resulting state the plan must restore; "" for none
}

// Result holds the results of a step as text.
type Result struct{ Problems, Reads, Plan, Calls, State, Again string }

// Do plans and applies a configuration and describes the results.
func (s *Session) Do(step *Step) (*Result, error) {
	out := &Result{}
	var diags tfdiags.Diagnostics
	defer func() { out.Problems = describeProblems(diags, step.Details) }()
	cfg, err := s.Load(step.Files, step.Plan.Variables, diags.Add)
	if err != nil {
		diags = diags.AppendError(err)
		return out, nil
	}
	env := s.Env()
	env.Parallelism, env.Warn = step.Workers, diags.Add
	ctx, abort := context.WithCancel(context.Background())
	defer abort()
	s.abort = abort
	if err := engine.Validate(ctx, cfg, env); err != nil {
		diags = diags.AppendError(err)
		return out, nil
	}
	if step.Rewritten {
		s.DropDependencyInstances()
	}
	if step.Against != "" {
		step.Plan.Past = s.against(step.Against)
	}
	s.Cloud.Calls()
	plan, err := engine.Plan(ctx, cfg, s.State, env, &step.Plan)
	diags = diags.AppendError(err)
	if len(step.Log) > 0 {
		out.Reads = s.Cloud.Log(step.Log...)
	}
	if plan != nil {
		out.Plan = DescribePlan(plan)
		for _, addr := range slices.Sorted(maps.Keys(plan.GeneratedConfig)) {
			out.Plan += plan.GeneratedConfig[addr]
		}
	}
	if err != nil || step.PlanOnly {
		return out, nil
	}
	s.Cloud.Calls()
	if step.Interrupt != nil {
		step.Interrupt()
	}
	env.Stop = s.Stop
	s.Cloud.Applying = true
	state, err := engine.Apply(ctx, cfg, plan, env, &step.Apply)
	s.Cloud.Applying = false
	s.Stop = nil
	diags = diags.AppendError(err)
	s.State = state
	out.Calls = s.Cloud.Log(step.Log...)
	out.State = describe(state, s.deposed)
	if step.Again && err == nil {
		out.Again = s.again(ctx, cfg, step)
	}
	return out, nil
}

// DropDependencyInstances removes from the state which instances the objects depend on.
func (s *Session) DropDependencyInstances() {
	s.State = s.State.Clone()
	for r := range s.State.Resources() {
		for key, inst := range r.Instances {
			if inst.Current != nil {
				object := *inst.Current
				object.DependencyInstances = nil
				provider := addrs.ProviderInstance{Config: r.Provider, Key: inst.ProviderKey}
				s.State.SetCurrent(r.Addr.Instance(key), &object, provider)
			}
		}
	}
}

// again plans once more without failures, and describes the plan. After a complete apply, the plan
// must be empty.
func (s *Session) again(ctx context.Context, cfg *configs.Config, step *Step) string {
	s.Cloud.Fail, s.Cloud.On = nil, nil
	plan, err := engine.Plan(ctx, cfg, s.State, s.Env(), &engine.PlanOptions{Variables: step.Plan.Variables,
		Defer: step.Plan.Defer})
	out := ""
	if err != nil {
		out = describeProblems(tfdiags.FromError(err), step.Details)
	}
	if plan != nil && (plan.Applyable || plan.Errored || len(plan.Deferred) > 0) {
		out += DescribePlan(plan)
	}
	return out
}

// option is one line of an options section.
type option struct{ name, value string }

// SetOption sets an option in the form of an archive, such as -target=ADDRESS.
func (s *Step) SetOption(text string) error {
	name, value, _ := strings.Cut(text, "=")
	return option{name, value}.set(s)
}

func (o option) set(step *Step) error {
	var err error
	var target addrs.Target
	opts := &step.Plan
	step.Again = step.Again && slices.Contains([]string{"-var", "-apply-var", "-log", "-details",
		"-parallelism", "-defer"}, o.name)
	switch o.name {
	case "-destroy":
		opts.Mode = plans.Destroy
	case "-refresh-only":
		opts.Mode = plans.RefreshOnly
	case "-refresh":
		opts.SkipRefresh = o.value == "false"
	case "-target":
		target, err = addrs.ParseTargetText(o.value)
		opts.Targets = append(opts.Targets, target)
	case "-exclude":
		target, err = addrs.ParseTargetText(o.value)
		opts.Excludes = append(opts.Excludes, target)
	case "-invoke":
		target, err = addrs.ParseTargetText(o.value)
		opts.Invoke = append(opts.Invoke, target)
	case "-replace":
		var addr addrs.AbsInstance
		addr, err = addrs.ParseInstanceText(o.value)
		opts.ForceReplace = append(opts.ForceReplace, addr)
	case "-import":
		addr, id, _ := strings.Cut(o.value, " ")
		var to addrs.AbsInstance
		to, err = addrs.ParseInstanceText(addr)
		opts.Imports = append(opts.Imports, reads.CommandImport{Addr: to, ID: id})
	case "-var":
		setVariable(&opts.Variables, o.value)
	case "-apply-var":
		setVariable(&step.Apply.Variables, o.value)
	case "-defer":
		opts.Defer = true
	case "-against":
		step.Against = o.value
	case "-generate":
		opts.GenerateConfig = true
	case "-suppress-forget-errors":
		step.Apply.SuppressForgetErrors = true
	case "-plan-only":
		step.PlanOnly = true
	case "-rewritten":
		step.Rewritten = true
	case "-details":
		step.Details = true
	case "-log":
		step.Log = strings.Split(o.value, ",")
	case "-parallelism":
		_, err = fmt.Sscan(o.value, &step.Workers)
	default:
		return fmt.Errorf("unknown option %q", o.name)
	}
	return err
}

func setVariable(vars *map[string]engine.Variable, text string) {
	if *vars == nil {
		*vars = map[string]engine.Variable{}
	}
	name, value, _ := strings.Cut(text, "=")
	(*vars)[name] = engine.Variable{Value: cty.StringVal(value)}
}
