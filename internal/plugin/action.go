package plugin

import (
	"context"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

func (c *client) action(ctx context.Context, m method, typ string) (*exchange, *providers.ResourceSchema) {
	x := c.begin(ctx, m)
	return x, x.find("action", typ, func(s *providers.Schema) providers.TypeTable { return s.Actions })
}

// ValidateAction implements providers.Interface.
func (c *client) ValidateAction(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics {
	x, rs := c.action(ctx, validateAction, typ)
	return x.validate(ctx, rs, typ, config, nil)
}

// PlanAction implements providers.Interface.
func (c *client) PlanAction(ctx context.Context, typ string, config cty.Value) (resp providers.PlanActionResponse) {
	x, rs := c.action(ctx, planAction, typ)
	if x.failed() {
		return providers.PlanActionResponse{Diagnostics: x.diags}
	}
	in := &tfplugin.PlanActionRequest{ActionType: typ, Config: x.encode(config, rs.Block.ImpliedType()),
		ClientCapabilities: c.capabilities()}
	out := &tfplugin.PlanActionResponse{}
	if x.invoke(ctx, in, out) {
		x.addDiagnostics(out.Diagnostics)
		resp.Deferred = deferred(out.Deferred)
	}
	resp.Diagnostics = x.diags
	return resp
}

// InvokeAction implements providers.Interface.
func (c *client) InvokeAction(
	ctx context.Context, typ string, config cty.Value, progress func(string),
) (resp providers.InvokeResponse) {
	x, rs := c.action(ctx, invokeAction, typ)
	if x.failed() {
		return providers.InvokeResponse{Diagnostics: x.diags}
	}
	in := &tfplugin.InvokeActionRequest{ActionType: typ, Config: x.encode(config, rs.Block.ImpliedType()),
		ClientCapabilities: c.capabilities()}
	var sent atomic.Bool
	completed := false
	receive(noteSent(ctx, &sent), x, in, func() *tfplugin.InvokeActionEvent { return &tfplugin.InvokeActionEvent{} },
		func(event *tfplugin.InvokeActionEvent) bool {
			switch one := event.Type.(type) {
			case *tfplugin.InvokeActionEvent_Progress_:
				progress(one.Progress.GetMessage())
			case *tfplugin.InvokeActionEvent_Completed_:
				completed = true
				x.addDiagnostics(one.Completed.GetDiagnostics())
			}
			return true
		})
	if !completed && !x.failed() {
		x.fail("Plugin error", "The provider %s didn't say how the action %s ended.\n\n%s",
			c.launch.Provider.ForDisplay(), typ, providers.BugNotice)
	}
	resp.Unanswered = !completed && sent.Load() && !x.unsupported
	resp.Diagnostics = x.diags
	return resp
}
