package planfile

import (
	"encoding/json"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// remoteV1 is the form of a plans.RemoteRead in a plan file.
type remoteV1 struct {
	Data      string          `json:"data"`
	Backend   string          `json:"backend"`
	Config    json.RawMessage `json:"config"`
	Workspace string          `json:"workspace"`
	Revision  uint64          `json:"revision"`
	Names     []string        `json:"names"`
	Missing   []string        `json:"missing,omitempty"`
	All       bool            `json:"all,omitempty"`
}

func encodeRemote(p *plans.Plan) any {
	if p.Remote == nil {
		return nil
	}
	out := make([]remoteV1, len(p.Remote))
	for i, r := range p.Remote {
		out[i] = remoteV1{r.Data.String(), r.Backend, r.Config, r.Workspace, r.Revision, r.Names, r.Missing, r.All}
	}
	return out
}

func decodeRemote(data []byte, p *plans.Plan) error {
	var in []remoteV1
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	out := make([]plans.RemoteRead, len(in))
	for i, r := range in {
		addr, err := addrs.ParseInstanceText(r.Data)
		if err != nil {
			return err
		}
		out[i] = plans.RemoteRead{Data: addr, Backend: r.Backend, Config: r.Config, OutputsRead: plans.OutputsRead{
			Workspace: r.Workspace, Revision: r.Revision, Names: r.Names, Missing: r.Missing, All: r.All}}
	}
	p.Remote = out
	return nil
}
