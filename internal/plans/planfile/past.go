package planfile

import (
	"encoding/json"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/plans"
)

// pastV1 is the form of plans.Past in a plan file.
type pastV1 struct {
	At   time.Time `json:"at"`
	Run  string    `json:"run,omitempty"`
	Undo string    `json:"undo,omitempty"`
	Lost []lostV1  `json:"lost"`
}

type lostV1 struct {
	Addr       string           `json:"addr"`
	Why        plans.LostReason `json:"why"`
	Attributes []string         `json:"attributes,omitempty"`
	MovedTo    string           `json:"moved_to,omitempty"`
}

func encodePast(p *plans.Plan) any {
	past := p.Past
	if past == nil {
		return nil
	}
	out := pastV1{At: past.At, Run: past.Run, Undo: past.Undo}
	for _, lost := range past.Lost {
		entry := lostV1{Addr: lost.Addr.String(), Why: lost.Why, Attributes: lost.Attributes}
		if lost.MovedTo != nil {
			entry.MovedTo = lost.MovedTo.String()
		}
		out.Lost = append(out.Lost, entry)
	}
	return out
}

func decodePast(data []byte, p *plans.Plan) error {
	var in pastV1
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	out := &plans.Past{At: in.At, Run: in.Run, Undo: in.Undo}
	for _, lost := range in.Lost {
		addr, err := addrs.ParseInstanceText(lost.Addr)
		if err != nil {
			return err
		}
		entry := plans.Lost{Addr: addr, Why: lost.Why, Attributes: lost.Attributes}
		if lost.MovedTo != "" {
			to, err := addrs.ParseInstanceText(lost.MovedTo)
			if err != nil {
				return err
			}
			entry.MovedTo = &to
		}
		out.Lost = append(out.Lost, entry)
	}
	p.Past = out
	return nil
}
