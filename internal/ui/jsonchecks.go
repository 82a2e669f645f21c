package ui

import (
	"encoding/json"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/checks"
)

type checkBlock struct {
	Address   checkAddress  `json:"address"`
	Status    string        `json:"status"`
	Instances []checkObject `json:"instances,omitempty"`
}

type checkObject struct {
	Address  checkAddress   `json:"address"`
	Status   string         `json:"status"`
	Problems []checkProblem `json:"problems,omitempty"`
}

type checkProblem struct {
	Message string `json:"message"`
}

type checkAddress struct {
	Kind        string          `json:"kind,omitempty"`
	ToDisplay   string          `json:"to_display"`
	Mode        string          `json:"mode,omitempty"`
	Type        string          `json:"type,omitempty"`
	Name        string          `json:"name,omitempty"`
	Module      string          `json:"module,omitempty"`
	InstanceKey json.RawMessage `json:"instance_key,omitempty"`
}

// checkKinds maps each kind of check to its name in JSON documents.
var checkKinds = map[checks.Kind]string{
	checks.KindResource: "resource",
	checks.KindOutput:   "output_value",
	checks.KindCheck:    "check",
	checks.KindVariable: "var",
}

func writeChecks(s *stream, blocks []*checks.Block) {
	s.list(func() {
		for _, block := range blocks {
			out := checkBlock{Address: blockAddress(block), Status: block.Status.String()}
			for _, o := range block.SortedObjects() {
				obj := checkObject{Address: checkedObject(block.Kind, o.Addr), Status: o.Status.String()}
				for _, msg := range o.Messages {
					obj.Problems = append(obj.Problems, checkProblem{msg})
				}
				out.Instances = append(out.Instances, obj)
			}
			s.item(out)
		}
	})
}

func blockAddress(block *checks.Block) checkAddress {
	out := checkAddress{Kind: checkKinds[block.Kind], ToDisplay: block.Config}
	if block.Kind == checks.KindResource {
		if r, ok := addrs.ParseConfigResourceText(block.Config); ok {
			out.Module, out.Mode, out.Type, out.Name = r.Module.String(), r.Resource.Mode.String(),
				r.Resource.Type, r.Resource.Name
		}
		return out
	}
	out.Module, out.Name = splitChecked(block.Config)
	return out
}

// checkedObject returns the address of an instance: its text, its module instance, and its key if it
// has one. The other parts are only in the address of its block.
func checkedObject(kind checks.Kind, text string) checkAddress {
	out := checkAddress{ToDisplay: text}
	if kind != checks.KindResource {
		out.Module, _ = splitChecked(text)
		return out
	}
	if addr, err := addrs.ParseInstanceText(text); err == nil {
		out.Module = string(addr.Module)
		if addr.Key != addrs.NoKey {
			out.InstanceKey = valueJSON(addr.Key.Value())
		}
	}
	return out
}

// splitChecked splits "module.m[0].output.name" into the module address and the name.
func splitChecked(text string) (module, name string) {
	rest, name := cutLast(text)
	module, _ = cutLast(rest)
	return module, name
}

// cutLast splits text at the last dot. Names contain no dots.
func cutLast(text string) (before, after string) {
	i := strings.LastIndexByte(text, '.')
	if i < 0 {
		return "", text
	}
	return text[:i], text[i+1:]
}
