package planfile

import (
	"errors"
	"fmt"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/plans"
)

// format is the version of the format of plans. It is increased with each change that older
// versions of the program would misunderstand.
const format = 7

var errFormat = errors.New("the plan file was written by another version of this program; create a new plan")

// The stream consists of the format number, one wirePlan, wirePlan.Changes times wireChange,
// wirePlan.Drift times wireChange, wirePlan.Outputs times wireOutput, and wirePlan.Deferred times
// wireDeferred. Fields are written without their names, so their order is part of the format.
type (
	wirePlan struct {
		Program string
		ID      string
		Backend Backend

		Mode                         plans.Mode
		Errored, Applyable, Complete bool
		Timestamp                    time.Time
		Variables                    []wireVariable
		EphemeralVariables           map[string]bool
		Targets, Excludes            []wireTarget
		ForceReplace                 []wireInstance
		Relevant, Read               []wireRelevant
		Checks                       []wireCheck
		HasChecks                    bool
		GeneratedConfig              map[string]string

		DeferredModules []string
		Invoked         []wireInvocation

		HasChanges                        bool
		Changes, Drift, Outputs, Deferred int
	}

	wireVariable struct {
		Name   string
		Source string
		Marks  []wireMark
	}

	wireKey struct {
		Kind uint8 // one of the constants below
		N    int
		S    string
	}

	wireInstance struct {
		Module string
		Mode   addrs.ResourceMode
		Type   string
		Name   string
		Key    wireKey
	}

	wireTarget struct {
		Instance wireInstance
		HasKey   bool
	}

	wireRelevant struct {
		Target wireTarget
		Path   wirePath
	}

	wireCheck struct {
		Kind    checks.Kind
		Config  string
		Status  checks.Status
		Objects []checks.Object
	}

	// wireProvider is the number of a provider configuration. At the first use of the number, it
	// also contains the provider configuration.
	wireProvider struct {
		Number int
		Config string
		Key    wireKey
	}

	wireChange struct {
		Addr           wireInstance
		Deposed        addrs.DeposedKey
		PrevAddr       *wireInstance // nil unless the object was moved
		Provider       wireProvider
		Action         plans.Action
		Reason         plans.Reason
		Before         wireValue
		After          wireValue
		BeforeIdentity wireValue
		AfterIdentity  wireValue
		Restored       *wireValue // nil unless the change brings back an earlier object
		Replace        []wirePath
		Private        []byte
		ReplaceDeposed addrs.DeposedKey
		Importing      *wireImport
		Generated      string
		Reads          []wireRead
		NeededBy       string
		Invocations    []wireInvocation
	}

	// wireInvocation is an invocation of an action. Event is "" if it was requested; Caller may be nil then.
	wireInvocation struct {
		Addr         wireInstance
		Provider     wireProvider
		Config       wireValue
		Caller       *wireInstance
		Event        string
		Block, Index int
		OnFailure    string
		Undecided    bool
	}

	wireRead struct {
		Mode addrs.ResourceMode
		Type string
		Name string
		Key  wireKey
	}

	wireImport struct {
		ID       string
		Identity wireValue
	}

	// wireDeferred is a deferred change. Module holds the path of the module as steps, because an
	// instance key in it may be unknown. The address in Change has no module.
	wireDeferred struct {
		Change wireChange
		Module []wireModuleStep
		Why    plans.DeferReason
		Chain  []plans.DeferralStep
		Via    string
		Kept   int
		Alone  bool
	}

	wireModuleStep struct {
		Name string
		Key  wireKey
	}

	wireOutput struct {
		Name       string
		Action     plans.Action
		Before     wireValue
		After      wireValue
		Sensitive  bool
		Deprecated string
	}
)

const (
	noKey uint8 = iota
	intKey
	stringKey
	unknownKey // used only by deferred changes
)

func toKey(k addrs.InstanceKey) (wireKey, error) {
	if n, ok := k.IsInt(); ok {
		return wireKey{Kind: intKey, N: n}, nil
	}
	if s, ok := k.IsString(); ok {
		return wireKey{Kind: stringKey, S: s}, nil
	}
	if k == addrs.UnknownKey {
		return wireKey{Kind: unknownKey}, nil
	}
	return wireKey{}, nil
}

func (k wireKey) key() (addrs.InstanceKey, error) {
	switch k.Kind {
	case noKey:
		return addrs.NoKey, nil
	case intKey:
		return addrs.IntKey(k.N), nil
	case stringKey:
		return addrs.StringKey(k.S), nil
	case unknownKey:
		return addrs.UnknownKey, nil
	}
	return addrs.NoKey, fmt.Errorf("unknown kind of instance key %d", k.Kind)
}

func toInstance(a addrs.AbsInstance) (wireInstance, error) {
	key, err := toKey(a.Key)
	return wireInstance{Module: string(a.Module), Mode: a.Resource.Mode, Type: a.Resource.Type,
		Name: a.Resource.Name, Key: key}, err
}

func toTarget(t addrs.Target) (wireTarget, error) {
	i, err := toInstance(addrs.AbsInstance{Module: t.Module, Resource: t.Resource, Key: t.Key})
	return wireTarget{Instance: i, HasKey: t.HasKey}, err
}

func (d *decoder) target(t wireTarget) (addrs.Target, error) {
	i, err := d.instance(t.Instance)
	return addrs.Target{Module: i.Module, Resource: i.Resource, Key: i.Key, HasKey: t.HasKey}, err
}

// instance decodes an address. It checks the input, because other packages rely on module addresses
// in canonical form.
func (d *decoder) instance(in wireInstance) (addrs.AbsInstance, error) {
	module, ok := d.modules[in.Module]
	if !ok {
		var err error
		module, err = addrs.ParseModuleInstanceText(in.Module)
		if err != nil || string(module) != in.Module {
			return addrs.AbsInstance{}, fmt.Errorf("invalid module address %q", in.Module)
		}
		d.modules[in.Module] = module
	}
	key, err := in.Key.key()
	if in.Mode > addrs.Action {
		err = errors.Join(err, fmt.Errorf("unknown resource mode %d", in.Mode))
	}
	return addrs.AbsInstance{Module: module, Resource: addrs.Resource{Mode: in.Mode, Type: in.Type,
		Name: in.Name}, Key: key}, err
}
