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
		Addr: addrs.Resource{Mode: addrs.Managed, Type: o.List.Type, Name: fmt.Sprintf("%s_%d", c.names, c.total)}.
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

// resourceNames returns the first part of the names of the generated resources of a list block: its
// name and the key of its instance, in letters that a name can have. Two list blocks of a type, such
// as a["b"] and a_b, never have the same one.
func (r *Run) resourceNames(l List) string {
	name := strings.Join(strings.SplitN(l.Addr, ".", 3)[2:], "")
	name = strings.Trim(notName.ReplaceAllString(name, "_"), "_")
	r.mu.Lock()
	defer r.mu.Unlock()
	for first, number := name, 2; r.names[l.Type+"."+name]; number++ {
		name = fmt.Sprintf("%s_list%d", first, number)
	}
	if r.names == nil {
		r.names = make(map[string]bool)
	}
	r.names[l.Type+"."+name] = true
	return name
}
