package planfile

import (
	"encoding/json"
	"fmt"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// footprintV1 is the form of a footprint in a plan file.
type footprintV1 struct {
	Revision uint64    `json:"revision"`
	Writes   []writeV1 `json:"writes"`
	Reads    []string  `json:"reads"`
	Wholes   []string  `json:"wholes"`
	Outputs  []string  `json:"outputs"`
}

type writeV1 struct {
	Addr     string `json:"addr"`
	Existed  bool   `json:"existed"`
	Destroys bool   `json:"destroys"`
}

func encodeFootprint(p *plans.Plan) any {
	f := p.Footprint
	if f == nil {
		return nil
	}
	out := footprintV1{Revision: f.Revision, Outputs: f.Outputs}
	for _, w := range f.Writes {
		out.Writes = append(out.Writes, writeV1{w.Addr.String(), w.Existed, w.Destroys})
	}
	for _, addr := range f.Reads {
		out.Reads = append(out.Reads, addr.String())
	}
	for _, addr := range f.Wholes {
		out.Wholes = append(out.Wholes, addr.String())
	}
	return out
}

func decodeFootprint(data []byte, p *plans.Plan) error {
	var in footprintV1
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	out := &plans.Footprint{Revision: in.Revision, Outputs: in.Outputs}
	for _, w := range in.Writes {
		addr, err := addrs.ParseInstanceText(w.Addr)
		if err != nil {
			return err
		}
		out.Writes = append(out.Writes, plans.Write{Addr: addr, Existed: w.Existed, Destroys: w.Destroys})
	}
	for _, text := range in.Reads {
		addr, err := addrs.ParseInstanceText(text)
		if err != nil {
			return err
		}
		out.Reads = append(out.Reads, addr)
	}
	for _, text := range in.Wholes {
		addr, ok := addrs.ParseConfigResourceText(text)
		if !ok {
			return fmt.Errorf("invalid address %q", text)
		}
		out.Wholes = append(out.Wholes, addr)
	}
	p.Footprint = out
	return nil
}
