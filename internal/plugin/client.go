package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"tofu/internal/configschema"
	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// advertisedVersion is the Terraform version that this program reports to providers. Some providers
// reject older versions or disable features for them.
const advertisedVersion = "1.13.0"

// client calls one provider process. It implements providers.Interface.
type client struct {
	launch  Launch
	process *process
	conn    *grpc.ClientConn
	version int // protocol version

	mu        sync.Mutex        // held while the schema is being fetched
	schema    *providers.Schema // set when the provider is ready for calls
	functions map[string]*providers.Function

	defers bool         // whether the provider may defer objects
	chunk  atomic.Int64 // size in bytes of the chunks of states; 0 until a state store is configured

	panicReported atomic.Bool // whether the stack trace has been reported
}

func newClient(l Launch, p *process, conn *grpc.ClientConn, version int) *client {
	return &client{launch: l, process: p, conn: conn, version: version}
}

// capabilities returns the capabilities that the engine reports to the provider.
func (c *client) capabilities() *tfplugin.ClientCapabilities {
	return &tfplugin.ClientCapabilities{DeferralAllowed: c.defers, WriteOnlyAttributesAllowed: true}
}

// AllowDeferral implements providers.Interface.
func (c *client) AllowDeferral() { c.defers = true }

// invoke calls a method of the provider.
func (c *client) invoke(ctx context.Context, m method, in, out proto.Message) error {
	return c.conn.Invoke(ctx, m.path(c.version), in, out)
}

// callError returns the error for a call that got no response. Users search the web for its
// summaries, so they should not change.
func (c *client) callError(m method, err error) tfdiags.Diagnostic {
	name := c.launch.Provider.ForDisplay()
	switch {
	case status.Code(err) == codes.Unavailable:
		d := tfdiags.Errorf(providers.NoAnswer, "The provider %s did not respond to the call %s", name, m)
		if !c.process.exited() {
			d.Detail += ": " + status.Convert(err).Message() + "."
			return d
		}
		status, last := c.process.lastWords()
		d.Detail += ", because its process ended" + status + "."
		if words := c.process.tail.panicText(); words != "" {
			d.Detail += " " + providers.BugNotice
			if c.panicReported.CompareAndSwap(false, true) {
				d.Detail += "\n\nStack trace of the provider:\n\n" + words
			}
		} else if last != "" {
			d.Detail += last
		} else {
			d.Detail += " The provider's log (TF_LOG_PROVIDER=DEBUG) may say why."
		}
		return d
	case status.Code(err) == codes.Canceled || status.Code(err) == codes.DeadlineExceeded ||
		errors.Is(err, context.Canceled):
		return tfdiags.Errorf("Request cancelled",
			"The call %s to the provider %s was canceled before the provider responded.", m, name)
	case status.Code(err) == codes.Unimplemented:
		return tfdiags.Errorf("Plugin error", "The provider %s does not support the call %s. A newer version of "+
			"the provider may support it.", name, m)
	case status.Code(err) == codes.ResourceExhausted:
		return tfdiags.Errorf("Plugin error",
			"The response from the provider %s to the call %s is too large: %s.", name, m,
			status.Convert(err).Message())
	}
	return tfdiags.Errorf("Plugin error", "The provider %s answered the call %s with an error: %s", name, m,
		status.Convert(err).Message())
}

// exchange is one call to the provider. It collects diagnostics, so that methods need not check for
// errors after each step.
type exchange struct {
	client *client
	method method
	schema *providers.Schema
	diags  tfdiags.Diagnostics
	// unsupported says that the provider refused the call, because it doesn't have the method.
	unsupported bool
}

// begin makes the provider ready for a call and returns the exchange for it.
func (c *client) begin(ctx context.Context, m method) *exchange {
	x := &exchange{client: c, method: m}
	x.schema, x.diags = c.ready(ctx)
	return x
}

// resource is like begin, for calls about a resource type.
func (c *client) resource(ctx context.Context, m method, typ string) (*exchange, *providers.ResourceSchema) {
	x := c.begin(ctx, m)
	return x, x.find("resource type", typ, func(s *providers.Schema) providers.TypeTable { return s.Resources })
}

// find returns the schema of a type. If the provider has no such type, or its schema is invalid,
// find adds an error, which prevents the call.
func (x *exchange) find(kind, typ string, table func(*providers.Schema) providers.TypeTable) *providers.ResourceSchema {
	if x.failed() {
		return nil
	}
	found := table(x.schema).Type(typ)
	switch {
	case found == nil:
		x.fail("Unknown "+kind, "The provider %s has no %s %q.", x.client.launch.Provider.ForDisplay(), kind, typ)
	case found.Invalid != nil:
		x.fail("Invalid provider schema", "The provider %s has an invalid schema for its %s %q: %s.",
			x.client.launch.Provider.ForDisplay(), kind, typ, found.Invalid)
	}
	return found
}

func (x *exchange) failed() bool { return x.diags.HasErrors() }

func (x *exchange) fail(summary, detail string, args ...any) {
	x.diags = x.diags.Append(tfdiags.Errorf(summary, detail, args...))
}

// invoke makes the call unless there have been errors. It reports whether there is a response.
func (x *exchange) invoke(ctx context.Context, in, out proto.Message) bool {
	if x.failed() {
		return false
	}
	if err := x.client.invoke(ctx, x.method, in, out); err != nil {
		x.refused(err)
		return false
	}
	return true
}

// refused adds the error for a call that got no response.
func (x *exchange) refused(err error) {
	x.unsupported = status.Code(err) == codes.Unimplemented
	x.diags = x.diags.Append(x.client.callError(x.method, err))
}

// block returns b, or an empty block if b is nil.
func block(b *configschema.Block) *configschema.Block {
	if b == nil {
		return configschema.Empty()
	}
	return b
}

// ValidateProviderConfig implements providers.Interface.
func (c *client) ValidateProviderConfig(ctx context.Context, config cty.Value) tfdiags.Diagnostics {
	x := c.begin(ctx, validateProvider)
	if x.failed() {
		return x.diags
	}
	out := &tfplugin.ValidateProviderConfigResponse{}
	if x.invoke(ctx, &tfplugin.ValidateProviderConfigRequest{Config: x.encode(config,
		block(x.schema.Provider).ImpliedType())}, out) {
		x.addDiagnostics(out.Diagnostics)
	}
	return x.diags
}

// Configure implements providers.Interface.
func (c *client) Configure(ctx context.Context, config cty.Value) tfdiags.Diagnostics {
	x := c.begin(ctx, configure)
	if x.failed() {
		return x.diags
	}
	in := &tfplugin.ConfigureProviderRequest{
		TerraformVersion:   advertisedVersion,
		Config:             x.encode(config, block(x.schema.Provider).ImpliedType()),
		ClientCapabilities: c.capabilities(),
	}
	out := &tfplugin.ConfigureProviderResponse{}
	if x.invoke(ctx, in, out) {
		x.addDiagnostics(out.Diagnostics)
	}
	return x.diags
}

// Stop implements providers.Interface.
func (c *client) Stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	out := &tfplugin.StopProviderResponse{}
	if err := c.invoke(ctx, stop, &tfplugin.StopProviderRequest{}, out); err != nil {
		return fmt.Errorf("asking provider %s to stop: %w", c.launch.Provider, err)
	}
	if out.Error != "" {
		return fmt.Errorf("asking provider %s to stop: %s", c.launch.Provider, out.Error)
	}
	return nil
}

// Close implements providers.Interface.
func (c *client) Close() error {
	if err := c.process.close(); err != nil {
		return fmt.Errorf("ending provider %s: %w", c.launch.Provider, err)
	}
	if c.process.kill == nil { // attached to a running process: close only the connection
		return c.conn.Close()
	}
	return nil
}
