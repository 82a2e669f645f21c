package query

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/genconfig"
	"tofu/internal/tfdiags"
)

// generate sets the blocks that import an object. The provider makes the configuration if it can.
func (c *collector) generate(ctx context.Context, o *Object, value cty.Value) tfdiags.Diagnostics {
	if c.schema.GenerateConfig {
		made, diags := c.provider.GenerateConfig(ctx, o.List.Type, value)
		if diags.HasErrors() {
			return diags.WithAddress(o.List.Addr)
		}
		value = made
	}
	block := &genconfig.Block{
		Addr: addrs.Resource{Mode: addrs.Managed, Type: o.List.Type, Name: resourceName(o.List.Addr, c.total)}.
			InInstance("").Instance(addrs.NoKey),
		Schema: c.schema.Resources.Type(o.List.Type).Block, Value: value,
	}
	if c.reference != block.Addr.Resource.ImpliedProvider() {
		block.Provider = c.reference
	}
	o.Resource, _ = genconfig.Text([]*genconfig.Block{block}, "")
	o.Import = genconfig.ImportBlock([]genconfig.Import{{To: block.Addr, Provider: block.Provider, Identity: o.Identity}})
	return nil
}

var notName = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// resourceName returns the name of a generated resource: that of the list block, the key of its
// instance, and the number of the object.
func resourceName(list string, number int) string {
	name := strings.Join(strings.SplitN(list, ".", 3)[2:], "")
	name = strings.Trim(notName.ReplaceAllString(name, "_"), "_")
	return fmt.Sprintf("%s_%d", name, number)
}
