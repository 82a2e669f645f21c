package ui

import (
	"sync"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/plans"
	"tofu/internal/providers"
	"tofu/internal/states"
	"tofu/internal/ui/planview"
)

// Schemas returns the schema of a provider, or nil if the schema is not available.
type Schemas func(addrs.Provider) *providers.Schema

// Resource returns the schema of a resource type, or nil if it is not available.
func (s Schemas) Resource(p addrs.Provider, r addrs.Resource) *providers.ResourceSchema {
	if s == nil {
		return nil
	}
	schema := s(p)
	if schema == nil {
		return nil
	}
	table := schema.Table(r.Mode)
	if table == nil {
		return nil
	}
	return table.Type(r.Type)
}

// PlanView is a plan together with what is needed to show it.
type PlanView struct {
	Plan    *plans.Plan
	Config  *configs.Config
	Schemas Schemas
	// Saved reports whether the plan was already shown when it was saved, and is now about to
	// be applied.
	Saved bool
	// Later reports whether the plan is shown later than by the run that made it. Then the text has
	// what was changed outside, the failed checks and the warnings in every view.
	Later bool

	once   sync.Once
	source *planview.Source
}

// Source returns the plan in the form that package planview needs.
func (v *PlanView) Source() *planview.Source {
	v.once.Do(func() { v.source = &planview.Source{Plan: v.Plan, Config: v.Config, Schema: v.Schemas.Resource} })
	return v.source
}

// StateView is a state together with what is needed to show it.
type StateView struct {
	State   *states.State
	Schemas Schemas
	// Only, if not nil, limits the view to one instance.
	Only *addrs.AbsInstance
}
