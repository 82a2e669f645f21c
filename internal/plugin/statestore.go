package plugin

import (
	"context"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/protobuf/proto"

	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// suggestedChunk is the size in bytes that the client suggests for the chunks of states. It is far
// below the limit of messages.
const suggestedChunk = 8 << 20

// maxState is the size in bytes of the largest state that a store may announce.
const maxState = 8 << 30

func (c *client) store(ctx context.Context, m method, typ string) (*exchange, *providers.ResourceSchema) {
	x := c.begin(ctx, m)
	return x, x.find("state store", typ, func(s *providers.Schema) providers.TypeTable { return s.StateStores })
}

// ValidateStore implements providers.Interface.
func (c *client) ValidateStore(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics {
	x, rs := c.store(ctx, validateStore, typ)
	return x.validate(ctx, rs, typ, config, nil)
}

// ConfigureStore implements providers.Interface.
func (c *client) ConfigureStore(ctx context.Context, typ string, config cty.Value) tfdiags.Diagnostics {
	x, rs := c.store(ctx, configureStore, typ)
	if x.failed() {
		return x.diags
	}
	in := &tfplugin.ConfigureStateStoreRequest{TypeName: typ, Config: x.encode(config, rs.Block.ImpliedType()),
		Capabilities: &tfplugin.StateStoreCapabilities{ChunkSize: suggestedChunk}}
	out := &tfplugin.ConfigureStateStoreResponse{}
	if !x.invoke(ctx, in, out) {
		return x.diags
	}
	x.addDiagnostics(out.Diagnostics)
	chunk := out.Capabilities.GetChunkSize()
	if !x.failed() && (chunk <= 0 || chunk > maxMessage/2) {
		x.fail("Invalid state store", "The provider %s wants to exchange states in chunks of %d bytes.\n\n%s",
			c.launch.Provider.ForDisplay(), chunk, providers.BugNotice)
	}
	c.chunk.Store(chunk)
	return x.diags
}

// ReadState implements providers.Interface. Chunks that don't continue one another are an error.
func (c *client) ReadState(ctx context.Context, typ, id string) ([]byte, tfdiags.Diagnostics) {
	x, _ := c.store(ctx, readState, typ)
	var state []byte
	total := int64(0)
	ended := receive(ctx, x, &tfplugin.StateRequest{TypeName: typ, StateId: id},
		func() *tfplugin.ReadStateBytesChunk { return &tfplugin.ReadStateBytesChunk{} },
		func(chunk *tfplugin.ReadStateBytesChunk) bool {
			x.addDiagnostics(chunk.Diagnostics)
			if x.failed() {
				return false
			}
			if len(chunk.Bytes) == 0 { // a message that has only warnings, or an empty state
				return true
			}
			if first := len(state) == 0; first {
				total = chunk.TotalLength
			}
			if total > maxState || chunk.TotalLength != total || chunk.Range.GetStart() != int64(len(state)) ||
				int64(len(state)+len(chunk.Bytes)) > total {
				x.brokenState(typ, id)
				return false
			}
			state = append(state, chunk.Bytes...)
			return true
		})
	if ended && int64(len(state)) != total {
		x.brokenState(typ, id)
	}
	if x.failed() {
		return nil, x.diags
	}
	return state, x.diags
}

func (x *exchange) brokenState(typ, id string) {
	x.fail("Incomplete state", "The provider %s sent the state %q of the store %s with missing or wrong parts, so it "+
		"was not used.\n\n%s", x.client.launch.Provider.ForDisplay(), id, typ, providers.BugNotice)
}

// WriteState implements providers.Interface. An empty state is sent as one empty chunk.
func (c *client) WriteState(ctx context.Context, typ, id string, state []byte) tfdiags.Diagnostics {
	x, _ := c.store(ctx, writeState, typ)
	out := &tfplugin.DiagnosticsResponse{}
	size := int64(len(state))
	chunks := func(send func(proto.Message) error) error {
		meta := &tfplugin.StateRequest{TypeName: typ, StateId: id}
		for at := int64(0); ; {
			end := min(at+c.chunk.Load(), size)
			err := send(&tfplugin.WriteStateBytesChunk{Meta: meta, Bytes: state[at:end], TotalLength: size,
				Range: &tfplugin.StateByteRange{Start: at, End: max(end-1, 0)}})
			if at, meta = end, nil; err != nil || at == size {
				return err
			}
		}
	}
	if !x.failed() && c.chunk.Load() == 0 {
		x.fail("State store not configured", "The store %s was used before it was configured.", typ)
	}
	if x.send(ctx, chunks, out) {
		x.addDiagnostics(out.Diagnostics)
	}
	return x.diags
}

// LockState implements providers.Interface.
func (c *client) LockState(ctx context.Context, typ, id, operation string) (string, tfdiags.Diagnostics) {
	x, _ := c.store(ctx, lockState, typ)
	out := &tfplugin.LockStateResponse{}
	if x.invoke(ctx, &tfplugin.LockStateRequest{TypeName: typ, StateId: id, Operation: operation}, out) {
		x.addDiagnostics(out.Diagnostics)
	}
	return out.LockId, x.diags
}

// UnlockState implements providers.Interface.
func (c *client) UnlockState(ctx context.Context, typ, id, lock string) tfdiags.Diagnostics {
	x, _ := c.store(ctx, unlockState, typ)
	return x.simple(ctx, &tfplugin.UnlockStateRequest{TypeName: typ, StateId: id, LockId: lock})
}

// ListStates implements providers.Interface.
func (c *client) ListStates(ctx context.Context, typ string) ([]string, tfdiags.Diagnostics) {
	x, _ := c.store(ctx, getStates, typ)
	out := &tfplugin.GetStatesResponse{}
	if x.invoke(ctx, &tfplugin.GetStatesRequest{TypeName: typ}, out) {
		x.addDiagnostics(out.Diagnostics)
	}
	return out.StateIds, x.diags
}

// DeleteState implements providers.Interface.
func (c *client) DeleteState(ctx context.Context, typ, id string) tfdiags.Diagnostics {
	x, _ := c.store(ctx, deleteState, typ)
	return x.simple(ctx, &tfplugin.StateRequest{TypeName: typ, StateId: id})
}

// simple makes a call whose response has only diagnostics.
func (x *exchange) simple(ctx context.Context, in proto.Message) tfdiags.Diagnostics {
	out := &tfplugin.DiagnosticsResponse{}
	if x.invoke(ctx, in, out) {
		x.addDiagnostics(out.Diagnostics)
	}
	return x.diags
}
