package keytest

import (
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configs/blocks"
	"tofu/internal/encryption"
	"tofu/internal/tfdiags"
)

// Open opens a key provider with the arguments of its block and an empty environment.
func Open(d *encryption.KeyDriver, args map[string]cty.Value) (encryption.KeyProvider, error) {
	config := d.Config()
	noEnv := func(string) string { return "" }
	if err := blocks.Decode(cty.ObjectVal(args), config, noEnv, tfdiags.Drop); err != nil {
		return nil, err
	}
	return d.Open(config, false)
}
