package planfile

import (
	"encoding/json"
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// encodeMissing returns what the calls of missing module instances have now, by the addresses of the
// instances.
func encodeMissing(p *plans.Plan) any {
	if p.Changes == nil {
		return nil
	}
	out := map[addrs.ModuleInstance]string{}
	for _, c := range p.Changes.Instances {
		if c.NoModule.At != addrs.RootInstance {
			out[c.NoModule.At] = c.NoModule.Call
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func decodeMissing(data []byte, p *plans.Plan) error {
	var out map[addrs.ModuleInstance]string
	if err := json.Unmarshal(data, &out); err != nil {
		return err
	}
	for at := range out {
		parsed, err := addrs.ParseModuleInstanceText(string(at))
		if err != nil || parsed != at || at == addrs.RootInstance {
			return fmt.Errorf("invalid module address %q", string(at))
		}
	}
	setMissing(p.Changes, out)
	return nil
}

// setMissing sets, in each change with the reason DeleteNoModule, the missing module instance that
// contains the object.
func setMissing(changes *plans.Changes, missing map[addrs.ModuleInstance]string) {
	if changes == nil {
		return
	}
	for _, c := range changes.Instances {
		if c.Reason != plans.DeleteNoModule {
			continue
		}
		for at := c.Addr.Module; at != addrs.RootInstance; at, _ = at.Parent() {
			if call, found := missing[at]; found {
				c.NoModule = plans.MissingModule{At: at, Call: call}
			}
		}
	}
}
