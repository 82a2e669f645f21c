package plans

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/states"
)

// Mode is the goal of a plan.
type Mode uint8

const (
	Normal      Mode = iota // make the objects match the configuration
	Destroy                 // destroy everything
	RefreshOnly             // only record changes that were made outside of OpenTofu
)

// Plan holds everything that an apply needs in addition to the configuration.
type Plan struct {
	Mode    Mode
	Errored bool // planning failed: the plan can be shown but not applied
	// Applyable says that applying the plan would change an object, the state or an output.
	Applyable bool
	// Complete is false if the plan may leave out changes: because of targets or exclusions,
	// because changes are deferred, or because it returns objects to an earlier time.
	Complete bool
	// Deferred holds the changes that can't be planned yet. DeferredModules holds the module calls
	// whose instances are unknown.
	Deferred        []*Deferred
	DeferredModules []addrs.Module

	Timestamp time.Time // result of plantimestamp()

	// Variables holds the root input values as given, before conversion and defaults, without
	// ephemeral values. Values that are not wholly known must be set when the plan is applied.
	Variables map[string]cty.Value
	// VariableSources says where these values came from, such as "the -var option".
	VariableSources map[string]string
	// EphemeralVariables has an entry for each ephemeral root variable. It is true if the variable
	// was set for planning, so it must be set again when the plan is applied.
	EphemeralVariables map[string]bool

	Targets, Excludes []addrs.Target
	ForceReplace      []addrs.AbsInstance

	Changes *Changes
	// Drift holds the changes made outside of OpenTofu since the last run, including moves. Before
	// is the object at the end of the last run.
	Drift []*InstanceChange
	// RelevantAttributes holds the attributes that the result of the plan depends on.
	RelevantAttributes []RelevantAttribute
	// Read holds the attributes that changing objects and outputs are derived from. Unlike
	// RelevantAttributes, which programs read, it has single instances where they are known, and
	// nothing that only unchanged objects read. It is empty if Drift is.
	Read []RelevantAttribute

	// Cone holds the objects whose values decide what the plan changes: the changing objects, and the
	// objects that these read. It is set only if the plan was made without reading some objects, and
	// is not stored.
	Cone []addrs.Target

	PrevRun *states.State // the state after moves and schema upgrades, before refreshing
	Prior   *states.State // the state after refreshing, from which changes start

	Checks *checks.Results
	// Warnings holds the warnings of the run that made a saved plan.
	Warnings []Warning

	// GeneratedConfig is the configuration that -generate-config-out writes, by the directory of the
	// module; "" is the root module.
	GeneratedConfig map[string]string

	// Past is set if the plan returns objects to an earlier time.
	Past *Past

	// Remote holds the outputs that were read from other states, if the stores of these states
	// record when outputs change.
	Remote []RemoteRead

	// Looked says how much of the state the plan has read; nil if it has read everything, or was made
	// with -refresh=false.
	Looked *Looked

	// Vanished has a sentence for each provider that can't find many of its objects. It is not stored:
	// the warnings are.
	Vanished []string

	// Unread holds the objects that could not be read, and for which the plan uses the stored values.
	// Like Vanished, it is not stored.
	Unread []string

	// Footprint is set if the store lets several runs change the state at the same time.
	Footprint *Footprint
}

// Destroys reports whether applying the plan destroys anything.
func (p *Plan) Destroys() bool {
	for _, c := range p.Changes.Instances {
		if c.Action == Delete || c.Action == DeleteThenCreate || c.Action == CreateThenDelete {
			return true
		}
	}
	return false
}

// RelevantAttribute is an attribute of a resource instance, or of all instances if Resource.HasKey
// is false.
type RelevantAttribute struct {
	Resource addrs.Target
	Attr     cty.Path
}

// Changes holds the planned changes. The zero value is ready for use.
type Changes struct {
	Instances []*InstanceChange // sorted in a finished plan; see Sort
	Outputs   []*OutputChange
	Invoked   []*Invocation // actions that no change triggers, sorted by address

	byOutput map[string]*OutputChange
}

// InstanceChange is the planned change of one object.
type InstanceChange struct {
	Addr      addrs.AbsInstance
	Deposed   addrs.DeposedKey // set if the object is deposed
	Provider  addrs.ProviderInstance
	MovedFrom *addrs.AbsInstance // former address; nil if the object was not moved

	Action Action
	Reason Reason
	// NoModule says which module instance is missing. It is set with the reason DeleteNoModule.
	NoModule MissingModule

	Before, After cty.Value // marked; null if the object doesn't exist
	// BeforeIdentity and AfterIdentity are the identities of the objects. They are cty.NilVal if
	// the resource type has no identity.
	BeforeIdentity, AfterIdentity cty.Value
	// Restored is set if the change brings an earlier object back. It is the block's configuration
	// with the earlier values, without marks or write-only values. Otherwise it is cty.NilVal.
	Restored        cty.Value
	RequiredReplace []cty.Path
	Private         []byte // private data that the provider returned for the planned object
	// Validated identifies the configuration that the provider has validated, if all of it was known.
	// Otherwise, and in saved plans, it is zero.
	Validated [sha256.Size]byte

	// ReplaceDeposed is the deposed key of the old object while a CreateThenDelete change is
	// applied.
	ReplaceDeposed addrs.DeposedKey

	// Invocations holds the actions that the change triggers, in the order in which they are invoked.
	Invocations []*Invocation

	Importing       *Importing
	GeneratedConfig string

	// NeededBy says why the plan includes the object although no target names it: "needed by
	// ADDRESS at FILE:LINE" or, if the plan destroys everything, "depends on ADDRESS".
	NeededBy string

	// Reads holds the instances that the configuration reads by computed indexes, such as
	// a[each.key]. They belong to resources in the same module, possibly to the one that changes,
	// or to resources that are read through an alias. Reads includes a resource only if all of
	// these indexes are known and the configuration reads no other instances of the resource. If
	// the configuration reads none of its instances, the resource has one entry with the key NoKey.
	// Reads leaves out another resource that has many instances if all of them are read.
	Reads []InstanceRead
}

// MissingModule is a module instance that the configuration has no more, although it has the call.
type MissingModule struct {
	At   addrs.ModuleInstance // the calling module has this address without its last step
	Call string               // what the call has now: "count", "for_each", "enabled", or "" for none
}

// InstanceRead is an instance of a resource that a configuration reads. The key is NoKey if no
// instance of the resource is read.
type InstanceRead struct {
	// Resource is the address of the resource, or of an alias: a value in the reader's module that
	// is a whole resource. The address of an alias is local.NAME, var.NAME or, for an output of a
	// call without instance keys, NAME with the type module.CALL. The resource may be in another
	// module.
	Resource addrs.Resource
	Key      addrs.InstanceKey
}

// KeysRead returns the keys of the instances of a resource in a list of reads. It returns false if the list
// doesn't have the resource.
func KeysRead(list []InstanceRead, of addrs.Resource) (keys []addrs.InstanceKey, listed bool) {
	for _, read := range list {
		if read.Resource != of {
			continue
		}
		listed = true
		if read.Key != addrs.NoKey {
			keys = append(keys, read.Key)
		}
	}
	return keys, listed
}

// Importing is the import of an existing object.
type Importing struct {
	ID       string
	Identity cty.Value // cty.NilVal if imported by ID
}

// OutputChange is the planned change of a root output value.
type OutputChange struct {
	Name          string
	Action        Action
	Before, After cty.Value // marked
	Sensitive     bool      // whether the value is sensitive before or after the change
	Deprecated    string

	// Undecided says that After is unknown because of deferred changes, so applying the plan does
	// not set the output. It is not part of saved plans.
	Undecided bool
}

// Sort sorts the changes of instances by address, with the current object before deposed ones, and
// the changes of outputs by name. The engine sorts the changes before it returns a plan.
func (c *Changes) Sort() {
	slices.SortFunc(c.Instances, func(x, y *InstanceChange) int { return x.compare(y.Addr, y.Deposed) })
	slices.SortFunc(c.Invoked, (*Invocation).Compare)
	slices.SortFunc(c.Outputs, func(x, y *OutputChange) int { return strings.Compare(x.Name, y.Name) })
}

// Instance returns the change of an object, or nil if the object has no change. The changes must be
// sorted.
func (c *Changes) Instance(addr addrs.AbsInstance, deposed addrs.DeposedKey) *InstanceChange {
	i, found := slices.BinarySearchFunc(c.Instances, addr, func(x *InstanceChange, addr addrs.AbsInstance) int {
		return x.compare(addr, deposed)
	})
	if !found {
		return nil
	}
	return c.Instances[i]
}

// compare compares the object of a change with the object at addr, for sorting.
func (c *InstanceChange) compare(addr addrs.AbsInstance, deposed addrs.DeposedKey) int {
	return cmp.Or(c.Addr.Compare(addr), strings.Compare(string(c.Deposed), string(deposed)))
}

// Output returns the change of a root output, or nil if the output has no change.
func (c *Changes) Output(name string) *OutputChange {
	return c.byOutput[name]
}

// AddOutput records the change of a root output.
func (c *Changes) AddOutput(change *OutputChange) {
	if c.byOutput == nil {
		c.byOutput = make(map[string]*OutputChange)
	}
	c.Outputs = append(c.Outputs, change)
	c.byOutput[change.Name] = change
}
