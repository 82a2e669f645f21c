package providers

import (
	"context"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/tfdiags"
)

// Generator makes the configuration of existing objects.
type Generator interface {
	// GenerateConfig returns the value of a resource block that describes an object. It may be called
	// only if Schema.GenerateConfig is set.
	GenerateConfig(ctx context.Context, typ string, state cty.Value) (cty.Value, tfdiags.Diagnostics)
}

// Lister finds existing objects.
type Lister interface {
	ValidateList(ctx context.Context, req ListRequest) tfdiags.Diagnostics
	// List passes each object that it finds to found, as soon as the provider sends it. It ends early
	// if found returns false.
	List(ctx context.Context, req ListRequest, found func(ListedObject) bool) tfdiags.Diagnostics
}

// ListRequest is a request to find objects of a resource type. Its values may be unknown in
// Lister.ValidateList.
type ListRequest struct {
	Type          string
	Config        cty.Value // of the type in Schema.Lists
	IncludeObject cty.Value // a bool: whether to return whole objects and not just their identities
	Limit         cty.Value // the greatest number of objects
}

// ListedObject is an object that a provider has found.
type ListedObject struct {
	Identity    cty.Value
	DisplayName string
	Object      cty.Value // null if the request doesn't include objects
	Diagnostics tfdiags.Diagnostics
}

// Actor carries out actions.
type Actor interface {
	ValidateAction(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics
	PlanAction(ctx context.Context, typ string, config cty.Value) PlanActionResponse
	// InvokeAction carries out an action. Messages about its progress are passed to progress.
	InvokeAction(ctx context.Context, typ string, config cty.Value, progress func(string)) InvokeResponse
}

// PlanActionResponse holds what the provider says about a planned action.
type PlanActionResponse struct {
	Deferred    string // one of the reasons for deferred responses; "" if the action is not deferred
	Diagnostics tfdiags.Diagnostics
}

// InvokeResponse says how an action ended.
type InvokeResponse struct {
	Diagnostics tfdiags.Diagnostics
	// Unanswered says that the provider may have carried out the action, but didn't say how it ended.
	Unanswered bool
}

// StateStore keeps states. A process of a provider has at most one configured store, so all calls
// name the same type.
type StateStore interface {
	ValidateStore(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics
	// ConfigureStore configures the store. It is called after Interface.Configure.
	ConfigureStore(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics
	// ReadState returns a state. It returns an empty slice if the store has no state with this ID.
	ReadState(ctx context.Context, typ, id string) ([]byte, tfdiags.Diagnostics)
	WriteState(ctx context.Context, typ, id string, state []byte) tfdiags.Diagnostics
	ListStates(ctx context.Context, typ string) ([]string, tfdiags.Diagnostics)
	DeleteState(ctx context.Context, typ, id string) tfdiags.Diagnostics
}

// StateLocker locks the states of a StateStore.
type StateLocker interface {
	// LockState returns the ID of the lock. It returns an empty ID if the store has no locks.
	LockState(ctx context.Context, typ, id, operation string) (string, tfdiags.Diagnostics)
	UnlockState(ctx context.Context, typ, id, lock string) tfdiags.Diagnostics
}

// Basic refuses the calls that only newer providers have. Providers without them embed it.
type Basic struct{}

func unsupported(what string) tfdiags.Diagnostics {
	return tfdiags.Errorf("Unsupported by the provider", "The provider has no %s.", what).List()
}

// GenerateConfig implements Generator.
func (Basic) GenerateConfig(context.Context, string, cty.Value) (cty.Value, tfdiags.Diagnostics) {
	return cty.NilVal, unsupported("configuration of existing objects")
}

// ValidateList implements Lister.
func (Basic) ValidateList(context.Context, ListRequest) tfdiags.Diagnostics {
	return unsupported("list resources")
}

// List implements Lister.
func (Basic) List(context.Context, ListRequest, func(ListedObject) bool) tfdiags.Diagnostics {
	return unsupported("list resources")
}

// ValidateAction implements Actor.
func (Basic) ValidateAction(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return unsupported("actions")
}

// PlanAction implements Actor.
func (Basic) PlanAction(context.Context, string, cty.Value) PlanActionResponse {
	return PlanActionResponse{Diagnostics: unsupported("actions")}
}

// InvokeAction implements Actor.
func (Basic) InvokeAction(context.Context, string, cty.Value, func(string)) InvokeResponse {
	return InvokeResponse{Diagnostics: unsupported("actions")}
}

// ValidateStore implements StateStore.
func (Basic) ValidateStore(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return unsupported("state stores")
}

// ConfigureStore implements StateStore.
func (Basic) ConfigureStore(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return unsupported("state stores")
}

// ReadState implements StateStore.
func (Basic) ReadState(context.Context, string, string) ([]byte, tfdiags.Diagnostics) {
	return nil, unsupported("state stores")
}

// WriteState implements StateStore.
func (Basic) WriteState(context.Context, string, string, []byte) tfdiags.Diagnostics {
	return unsupported("state stores")
}

// LockState implements StateLocker.
func (Basic) LockState(context.Context, string, string, string) (string, tfdiags.Diagnostics) {
	return "", unsupported("state stores")
}

// UnlockState implements StateLocker.
func (Basic) UnlockState(context.Context, string, string, string) tfdiags.Diagnostics {
	return unsupported("state stores")
}

// ListStates implements StateStore.
func (Basic) ListStates(context.Context, string) ([]string, tfdiags.Diagnostics) {
	return nil, unsupported("state stores")
}

// DeleteState implements StateStore.
func (Basic) DeleteState(context.Context, string, string) tfdiags.Diagnostics {
	return unsupported("state stores")
}
