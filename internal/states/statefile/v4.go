package statefile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/jsonscan"
	"tofu/internal/states"
)

// These types are the parts of version 4's JSON form before their addresses and values are parsed.
// File write.go writes the same fields.
type (
	resourceV4 struct{ Module, Mode, Type, Name, Provider string }

	instanceV4 struct {
		IndexKey            []byte // JSON text
		Status              string
		Deposed             string
		Provider            string
		SchemaVersion       uint64
		Attributes          []byte            // JSON text
		AttributesFlat      map[string]string // used instead of Attributes
		SensitiveAttributes []byte            // JSON text
		Private             []byte
		Dependencies        []byte // JSON text
		DependencyInstances []string
		CreateBeforeDestroy bool
		SkipDestroy         bool
		Identity            []byte // JSON text
		IdentityVersion     uint64
	}

	checkV4 struct {
		Kind    string `json:"object_kind"`
		Config  string `json:"config_addr"`
		Status  string `json:"status"`
		Objects []struct {
			Addr     string   `json:"object_addr"`
			Status   string   `json:"status"`
			Messages []string `json:"failure_messages"`
		} `json:"objects"`
	}

	stepV4 struct {
		Type  string          `json:"type"`
		Value json.RawMessage `json:"value"`
	}
)

var (
	versionPattern = regexp.MustCompile(`^v?\d+(\.\d+)*([-+.~][0-9A-Za-z-+.~]*)?$`)
	deposedPattern = regexp.MustCompile(`^[0-9a-f]{8}$`)
)

// unmarshalValue decodes an output's value. It refuses numbers with a huge exponent: a number such
// as 1e999999999 is short in the file but has a gigabyte of digits when printed. The limit is far
// above the limits of other programs.
func unmarshalValue(raw []byte, ty cty.Type) (cty.Value, error) {
	const maxExponent = 1 << 14 // exponent to base two: about 5,000 decimal digits
	v, err := states.Unmarshal(raw, ty)
	if err != nil {
		return v, err
	}
	err = cty.Walk(v, func(_ cty.Path, v cty.Value) (bool, error) {
		if v.Type() == cty.Number && v.IsKnown() && !v.IsNull() {
			if n := v.AsBigFloat(); n.IsInf() || n.MantExp(nil) > maxExponent || n.MantExp(nil) < -maxExponent {
				return false, errors.New("a number is too large or too close to zero")
			}
		}
		return true, nil
	})
	return v, err
}

// checkResults returns the check results. It ignores kinds of checks that only later versions know.
func checkResults(list []checkV4) *checks.Results {
	var out *checks.Results
	for _, in := range list {
		kind := checks.Kind(in.Kind)
		switch kind {
		case checks.KindResource, checks.KindOutput, checks.KindCheck, checks.KindVariable:
		default:
			continue
		}
		if out == nil {
			out = &checks.Results{}
		}
		block := out.Declare(kind, in.Config)
		block.Status = checks.ParseStatus(in.Status)
		for _, o := range in.Objects {
			status := checks.ParseStatus(o.Status)
			block.Objects[o.Addr] = &checks.Object{Addr: o.Addr, Status: status, Messages: o.Messages}
		}
	}
	return out
}

// A decoder parses each distinct address in a file only once, because most instances repeat the
// same few modules, providers and dependencies.
type decoder struct {
	modules   map[string]addrs.ModuleInstance
	providers map[string]addrs.ProviderInstance
	resources map[string]addrs.ConfigResource // by their JSON text
	paths     map[string][]cty.Path           // lists of paths by their JSON text
	deps      map[string]*states.Dependencies // sets by their JSON text, so that instances share them
}

func newDecoder() *decoder {
	return &decoder{
		modules:   map[string]addrs.ModuleInstance{"": addrs.RootInstance},
		providers: make(map[string]addrs.ProviderInstance),
		resources: make(map[string]addrs.ConfigResource),
		paths:     make(map[string][]cty.Path),
		deps:      make(map[string]*states.Dependencies),
	}
}

// resource adds a resource to the state. The provider may be a field of the instances instead of
// the resource.
func (d *decoder) resource(state *states.State, in *resourceV4) (*states.Resource, error) {
	module, err := d.module(in.Module)
	if err != nil {
		return nil, err
	}
	addr := addrs.AbsResource{Module: module, Resource: addrs.Resource{Type: in.Type, Name: in.Name}}
	switch in.Mode {
	case addrs.Managed.String():
		addr.Resource.Mode = addrs.Managed
	case addrs.Data.String():
		addr.Resource.Mode = addrs.Data
	default:
		return nil, fmt.Errorf("the state has a resource %s.%s of the unknown mode %q", in.Type, in.Name, in.Mode)
	}
	if in.Type == "" || in.Name == "" {
		return nil, fmt.Errorf("the state has a resource without a type or without a name: type %q, name %q",
			in.Type, in.Name)
	}
	var config addrs.AbsProviderConfig
	if in.Provider != "" {
		provider, err := d.provider(in.Provider)
		if err != nil {
			return nil, fmt.Errorf("%s in the state: %w", addr, err)
		}
		config = provider.Config
	}
	return state.EnsureResource(addr, config), nil
}

func (d *decoder) instance(r *states.Resource, in *instance) error {
	if in.err != nil {
		return in.err
	}
	key, err := instanceKey(in.key)
	if err != nil {
		return fmt.Errorf("%s in the state has an instance with the invalid key %s", r.Addr, clip(in.key))
	}
	addr := r.Addr.Instance(key)
	if in.objectErr != nil {
		return fmt.Errorf("%s in the state: %w", addr, in.objectErr)
	}
	inst := r.Instances[key]
	if inst == nil {
		inst = &states.Instance{}
		r.Instances[key] = inst
	}
	if in.provider != "" {
		provider, err := d.provider(in.provider)
		if err != nil {
			return fmt.Errorf("%s in the state: %w", addr, err)
		}
		r.Provider, inst.ProviderKey = provider.Config, provider.Key
	}
	if r.Provider.Provider.IsZero() {
		return noProvider(r)
	}
	if in.deposed == "" {
		if inst.Current != nil {
			return fmt.Errorf("%s is in the state twice", addr)
		}
		inst.Current = in.object
		return nil
	}
	deposed := addrs.DeposedKey(in.deposed)
	switch {
	case !deposedPattern.MatchString(in.deposed):
		return fmt.Errorf("%s in the state has a deposed object with the invalid key %q", addr, in.deposed)
	case inst.Deposed[deposed] != nil:
		return fmt.Errorf("the deposed object %s of %s is in the state twice", deposed, addr)
	case inst.Deposed == nil:
		inst.Deposed = make(map[addrs.DeposedKey]*states.Object)
	}
	inst.Deposed[deposed] = in.object
	return nil
}

func (d *decoder) object(in *instanceV4) (*states.Object, error) {
	obj := &states.Object{
		SchemaVersion:       int64(in.SchemaVersion),
		Attrs:               in.Attributes,
		Private:             in.Private,
		CreateBeforeDestroy: in.CreateBeforeDestroy,
		SkipDestroy:         in.SkipDestroy,
	}
	switch in.Status {
	case "":
	case "tainted":
		obj.Status = states.Tainted
	default:
		return nil, fmt.Errorf("unknown status %q", in.Status)
	}
	if in.Attributes == nil {
		obj.Flatmap = in.AttributesFlat
		if obj.Flatmap == nil {
			obj.Attrs = []byte("{}")
		}
	}
	if in.Identity != nil && string(in.Identity) != "null" {
		obj.Identity, obj.IdentityVersion = in.Identity, int64(in.IdentityVersion)
	}
	if raw := in.SensitiveAttributes; len(raw) > 2 {
		paths, ok := d.paths[string(raw)]
		if !ok {
			var err error
			paths, err = decodePaths(raw)
			if err != nil {
				return nil, fmt.Errorf("invalid sensitive_attributes: %w", err)
			}
			d.paths[string(raw)] = paths
		}
		obj.SensitivePaths = paths
	}
	var err error
	obj.Dependencies, err = d.dependencies(in.Dependencies)
	if err != nil || in.DependencyInstances == nil {
		return obj, err
	}
	obj.DependencyInstances, err = instanceParser{}.parseAll(in.DependencyInstances)
	return obj, err
}

func noProvider(r *states.Resource) error {
	return fmt.Errorf("%s in the state has no provider, and neither do its instances", r.Addr)
}

// dependencies decodes a list of dependencies. It parses each distinct list only once.
func (d *decoder) dependencies(text []byte) (*states.Dependencies, error) {
	if deps, ok := d.deps[string(text)]; ok || len(text) == 0 {
		return deps, nil
	}
	list := make([]addrs.ConfigResource, 0, bytes.Count(text, []byte{','})+1)
	s, err := jsonscan.Scanner{Data: text}, error(nil)
	ok := s.Word("null") || s.Elements(func() bool {
		name, ok := s.SharedText()
		if !ok {
			return false
		}
		dep, known := d.resources[name]
		if !known {
			if dep, ok = addrs.ParseConfigResourceText(strings.Clone(name)); !ok {
				err = fmt.Errorf("invalid dependency %q", name)
			}
			d.resources[name] = dep
		}
		list = append(list, dep)
		return ok
	})
	if !ok {
		return nil, cmp.Or(err, fmt.Errorf("the dependencies are not a list of addresses: %s", clip(text)))
	}
	deps := states.NewDependencies(list)
	d.deps[string(text)] = deps
	return deps, nil
}

func (d *decoder) module(text string) (addrs.ModuleInstance, error) {
	module, ok := d.modules[text]
	if !ok {
		var err error
		module, err = addrs.ParseModuleInstanceText(text)
		if err != nil {
			return "", fmt.Errorf("the state has a resource with the invalid module address %q", text)
		}
		d.modules[text] = module
	}
	return module, nil
}

func (d *decoder) provider(text string) (addrs.ProviderInstance, error) {
	p, ok := d.providers[text]
	if ok {
		return p, nil
	}
	p, err := addrs.ParseProviderInstanceText(text)
	if err != nil {
		var legacy bool
		p.Config, legacy = legacyProvider(text)
		if !legacy {
			return p, err
		}
	}
	d.providers[text] = p
	return p, nil
}

func instanceKey(raw []byte) (addrs.InstanceKey, error) {
	switch {
	case raw == nil || string(raw) == "null":
		return addrs.NoKey, nil
	case raw[0] == '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return addrs.StringKey(s), err
	}
	n, err := strconv.Atoi(string(raw))
	return addrs.IntKey(n), err
}

// decodePaths decodes the sensitive paths and sorts them. OpenTofu does not sort them.
func decodePaths(raw []byte) ([]cty.Path, error) {
	var in [][]stepV4
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, err
	}
	var out []cty.Path
	for _, steps := range in {
		path := make(cty.Path, len(steps))
		for i, step := range steps {
			var err error
			path[i], err = step.decode()
			if err != nil {
				return nil, err
			}
		}
		out = append(out, path)
	}
	slices.SortFunc(out, states.ComparePaths)
	return out, nil
}

func (s *stepV4) decode() (cty.PathStep, error) {
	switch s.Type {
	case "get_attr":
		var name string
		err := json.Unmarshal(s.Value, &name)
		return cty.GetAttrStep{Name: name}, err
	case "index":
		var in struct{ Value, Type json.RawMessage }
		if err := json.Unmarshal(s.Value, &in); err != nil {
			return nil, err
		}
		ty, err := states.UnmarshalType(in.Type)
		if err != nil {
			return nil, err
		}
		key, err := states.Unmarshal(in.Value, ty)
		if err == nil && key.IsNull() {
			err = errors.New("an index is null")
		}
		return cty.IndexStep{Key: key}, err
	}
	return nil, fmt.Errorf("unknown step type %q", s.Type)
}

// legacyProvider parses a provider address in the form of versions before 4,
// "[module.m.]provider.type[.alias]", which early files of version 4 also use. Such an address has
// no namespace, so the result has the namespace "-" until the user runs the replace-provider
// command. It returns false for text in any other form.
func legacyProvider(text string) (addrs.AbsProviderConfig, bool) {
	var out addrs.AbsProviderConfig
	parts := strings.Split(text, ".")
	for len(parts) > 2 && parts[0] == "module" {
		out.Module, parts = out.Module.Child(parts[1]), parts[2:]
	}
	if len(parts) < 2 || len(parts) > 3 || parts[0] != "provider" || parts[1] == "" ||
		strings.ContainsAny(text, `["/ `) {
		return out, false
	}
	if len(parts) == 3 {
		out.Alias = parts[2]
	}
	name, err := addrs.ParseProviderPart(parts[1])
	out.Provider = addrs.Provider{Host: addrs.DefaultHost, Namespace: "-", Type: name}
	if name == "terraform" {
		out.Provider = addrs.BuiltinTerraform
	}
	if err == nil { // names of modules and aliases must be readable in the new form, too
		_, err = addrs.ParseProviderInstanceText(out.String())
	}
	return out, err == nil
}
