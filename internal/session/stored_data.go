package session

import (
	"bytes"
	"encoding/json"

	"github.com/hashicorp/hcl/v2"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/states"
)

// The type terraform_data has the block store only where a configuration or a state uses it. Otherwise
// states would have an attribute that OpenTofu can't read.

var storeBlocks = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "store"},
	{Type: "dynamic", LabelNames: []string{"type"}}}}

// storesData reports whether a terraform_data block of a configuration has the block store.
func storesData(root *configs.Config) bool {
	for cfg := range root.AllModules() {
		for addr, r := range cfg.Module.Resources {
			if addr.Type != "terraform_data" || addr.Mode != addrs.Managed {
				continue
			}
			content, _, _ := r.Config.PartialContent(storeBlocks) // validation reports errors
			for _, block := range content.Blocks {
				if block.Type == "store" || block.Labels[0] == "store" {
					return true
				}
			}
		}
	}
	return false
}

// hasStored reports whether the configuration or a state that was read has an object with that block. It
// searches the states when the provider is needed: most commands on states don't need it.
func (s *Session) hasStored() bool {
	for _, st := range s.unsearched {
		s.stores = s.stores || hasStoredData(st)
	}
	s.unsearched = nil
	return s.stores
}

// hasStoredData reports whether a state has an object with that block.
func hasStoredData(st *states.State) bool {
	for r := range st.Resources() {
		if r.Addr.Resource.Type != "terraform_data" {
			continue
		}
		for _, inst := range r.Instances {
			if inst.Current == nil || !bytes.Contains(inst.Current.Attrs, []byte(`"store"`)) {
				continue
			}
			var attrs struct {
				Store json.RawMessage `json:"store"`
			}
			if json.Unmarshal(inst.Current.Attrs, &attrs) == nil && len(attrs.Store) > 0 && string(attrs.Store) != "null" &&
				string(attrs.Store) != "[]" {
				return true
			}
		}
	}
	return false
}
