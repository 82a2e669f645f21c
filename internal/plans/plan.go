package plans

import (
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/checks"
	"tofu/internal/states"
)

// Mode is the goal of a plan.
type Mode uint8

const (
	Normal      Mode = iota // make real what the configuration says
	Destroy                 // destroy everything
	RefreshOnly             // only take note of what changed outside
)

// Plan is everything that applying needs, besides the configuration.
type Plan struct {
	Mode    Mode
	Errored bool // planning failed: can be shown, not applied
	// Applyable: applying would change something (an object, the state, an output).
	Applyable bool
	// Complete: nothing was left out by targeting or deferral.
	Complete bool

	Timestamp time.Time // what plantimestamp() gives

	// Variables are the root input values as they were given (before conversion and defaults), without ephemeral ones.
	Variables map[string]cty.Value
	// EphemeralVariables names the root variables that must be given again to apply the plan.
	EphemeralVariables map[string]bool // value: whether one was given when planning

	Targets, Excludes []addrs.Target
	ForceReplace      []addrs.AbsInstance

	Changes *Changes
	// Drift lists what changed outside since the last run, Moved-only entries included. Before is the previous run's value.
	Drift []*InstanceChange
	// RelevantAttributes are the attributes that the plan's outcome depends on.
	RelevantAttributes []RelevantAttribute

	PrevRun *states.State // after moves and schema upgrades, before refreshing
	Prior   *states.State // after refreshing: what changes start from

	Checks *checks.Results

	// GeneratedConfig is the text that -generate-config-out writes, by instance address.
	GeneratedConfig map[string]string
}

// Destroys tells whether applying the plan destroys anything.
func (p *Plan) Destroys() bool {
	for _, c := range p.Changes.Instances {
		if c.Action == Delete || c.Action == DeleteThenCreate || c.Action == CreateThenDelete {
			return true
		}
	}
	return false
}

// RelevantAttribute names an attribute of a resource instance (or of all instances, when HasKey is false).
type RelevantAttribute struct {
	Resource addrs.Target
	Attr     cty.Path
}

// Changes are the planned changes, indexed. The zero value is ready for use.
type Changes struct {
	Instances []*InstanceChange // in order of address, current object before deposed ones, once the plan is finished
	Outputs   []*OutputChange   // root outputs by name

	byObject map[objectID]*InstanceChange
	byOutput map[string]*OutputChange
}

type objectID struct {
	addr    addrs.AbsInstance
	deposed addrs.DeposedKey
}

// InstanceChange is what is to happen to one object.
type InstanceChange struct {
	Addr     addrs.AbsInstance
	Deposed  addrs.DeposedKey  // set for a deposed object's change
	PrevAddr addrs.AbsInstance // other than Addr when the object was moved
	Provider addrs.ProviderInstance

	Action Action
	Reason Reason

	Before, After cty.Value // marked; null where there is no object
	// BeforeIdentity and AfterIdentity are cty.NilVal where the type has none.
	BeforeIdentity, AfterIdentity cty.Value
	RequiredReplace               []cty.Path
	Private                       []byte // planned private data

	// ReplaceDeposed is the key under which the old object is kept while CreateThenDelete runs.
	ReplaceDeposed addrs.DeposedKey

	Importing       *Importing
	GeneratedConfig string
}

// Importing says that the change takes over an existing object.
type Importing struct {
	ID       string
	Identity cty.Value // cty.NilVal when imported by ID
}

// Moved tells whether the object was at another address before.
func (c *InstanceChange) Moved() bool {
	return c.PrevAddr != c.Addr && c.PrevAddr != (addrs.AbsInstance{})
}

// OutputChange is what is to happen to a root output value.
type OutputChange struct {
	Name          string
	Action        Action
	Before, After cty.Value // marked
	Sensitive     bool      // before or after
	Deprecated    string
}

// Add records a change and indexes it.
func (c *Changes) Add(change *InstanceChange) {
	if c.byObject == nil {
		c.byObject = make(map[objectID]*InstanceChange)
	}
	c.Instances = append(c.Instances, change)
	c.byObject[objectID{change.Addr, change.Deposed}] = change
}

// Instance gives the change of an object, nil when none is planned.
func (c *Changes) Instance(addr addrs.AbsInstance, deposed addrs.DeposedKey) *InstanceChange {
	return c.byObject[objectID{addr, deposed}]
}

// Output gives the change of a root output, nil when none is recorded.
func (c *Changes) Output(name string) *OutputChange {
	return c.byOutput[name]
}

// AddOutput records a root output's change.
func (c *Changes) AddOutput(change *OutputChange) {
	if c.byOutput == nil {
		c.byOutput = make(map[string]*OutputChange)
	}
	c.Outputs = append(c.Outputs, change)
	c.byOutput[change.Name] = change
}
