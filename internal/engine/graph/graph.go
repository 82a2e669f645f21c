package graph

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/dag"
	"tofu/internal/engine/reads"
	"tofu/internal/states"
	"tofu/internal/tfdiags"
)

// Graph is the tree of modules with their values, resources and provider configurations, and the
// graph of the work on them. It is complete when Build returns and does not change after that.
type Graph struct {
	reads.Tree
	Edges   dag.Graph
	Relaxed bool // whether rules for the order of destruction contradicted each other, so that some were dropped

	Providers map[addrs.AbsProviderConfig]*reads.Provider

	Functions map[FunctionUse]reads.ProviderUse // the called functions, with the provider configurations that they belong to

	// RefErrors holds the errors of references, by the expression or body that contains them. It is
	// filled only while validating, so that the rest of a node is evaluated even if one of its
	// expressions is invalid. In all other phases, the errors are in the node's Problems.
	RefErrors map[EvalUnit]tfdiags.Diagnostics

	LeftOut      []LeftOut     // what targets or exclusions leave out
	participants *participants // nil without targets or exclusions, and while destroying

	// Few resources have entries in these maps, so they are not fields of Resource.
	Removals map[*reads.Resource]*Removal
	Unused   map[*reads.Node]bool // nodes that would open ephemeral objects whose values no other node uses

	refs      *dag.Graph                                                                     // see Storing
	apart     map[*reads.Node]*apartNodes                                                    // by node that is split; see apartNodes
	finals    map[reads.Place]*reads.Node                                                    // see Final
	instances map[*reads.Resource]map[addrs.ModuleInstance]map[addrs.InstanceKey]*reads.Node // see Instances
}

// Removal holds the settings of a removed block for a resource that it covers.
type Removal struct {
	Config       *configs.Removed
	Provisioners []*reads.Provisioner // provisioners to run before the objects are deleted; empty unless there are Steps
}

// Storing returns the places of a walk, which are followed to find what stored objects depend on. keys finds the
// keys with which they read each other.
func (g *Graph) Storing(keys reads.KnownKeys, prior *states.State, partial bool) *reads.Places {
	return reads.Source{Tree: &g.Tree, Refs: g.refs, Early: keys, Prior: prior, Partial: partial}.Storing()
}

// FunctionUse is a provider function called in a module.
type FunctionUse struct {
	Module *reads.Module
	Name   addrs.ProviderFunction
}

// DeletionProvisioners returns the provisioners to run before an object of the resource is deleted,
// and the module in which they are evaluated.
func (g *Graph) DeletionProvisioners(r *reads.Resource) (*reads.Module, []*reads.Provisioner) {
	m := r.Module
	if m.Config == nil {
		m = g.Root
	}
	if removal := g.Removals[r]; removal != nil {
		return m, removal.Provisioners
	}
	if r.Exprs != nil {
		return m, r.Exprs.Provisioners
	}
	return m, nil
}

// emptyBodyAt returns an empty body. Errors about it are reported at rng.
func emptyBodyAt(rng hcl.Range) hcl.Body { return &hclsyntax.Body{SrcRange: rng, EndRange: rng} }

// CallsFunctions reports whether functions of a provider configuration are called. If so, the
// provider is needed even if it is mocked, because functions are never mocked.
func (g *Graph) CallsFunctions(p *reads.Provider) bool {
	for _, used := range g.Functions {
		if used.Provider == p {
			return true
		}
	}
	return false
}
