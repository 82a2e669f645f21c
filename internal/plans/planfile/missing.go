package planfile

import (
	"encoding/json"
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// missingModules returns what the calls of missing module instances have now, by the addresses of the
// instances.
func missingModules(changes *plans.Changes) map[addrs.ModuleInstance]string {
	out := map[addrs.ModuleInstance]string{}
	if changes == nil {
		return out
	}
	for _, c := range changes.Instances {
		if c.NoModule.At != addrs.RootInstance {
			out[c.NoModule.At] = c.NoModule.Call
		}
	}
	return out
}

func decodeMissing(data []byte) (*map[addrs.ModuleInstance]string, error) {
	var out map[addrs.ModuleInstance]string
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	for at := range out {
		parsed, err := addrs.ParseModuleInstanceText(string(at))
		if err != nil || parsed != at || at == addrs.RootInstance {
			return nil, fmt.Errorf("invalid module address %q", string(at))
		}
	}
	return &out, nil
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
