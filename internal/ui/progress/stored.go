package progress

import (
	"encoding/json"

	"tofu/internal/addrs"
	"tofu/internal/engine"
	"tofu/internal/plans"
)

// storedEvent is the part of an event of the engine that [Live.RootEvent] uses.
type storedEvent struct {
	Event   string           `json:"event"`
	Addr    string           `json:"addr"`
	Deposed addrs.DeposedKey `json:"deposed,omitempty"`
	From    string           `json:"from,omitempty"`
	Action  plans.Action     `json:"action,omitempty"`
	Word    string           `json:"word,omitempty"` // the type of a provisioner, or a verb
}

// Store returns an event of the engine as bytes, so that another process can show it, or nil if no progress is
// shown for it.
func Store(e engine.Event) []byte {
	of := func(name string, o engine.Object) storedEvent {
		return storedEvent{Event: name, Addr: o.Addr.String(), Deposed: o.Deposed, From: o.From}
	}
	var s storedEvent
	switch e := e.(type) {
	case engine.RefreshStart:
		s = of("refresh", e.Object)
	case engine.RefreshDone:
		s = of("refreshed", e.Object)
	case engine.ImportStart:
		s = of("import", e.Object)
	case engine.ImportDone:
		s = of("imported", e.Object)
	case engine.ApplyStart:
		s = of("apply", e.Object)
		s.Action = e.Action
	case engine.ApplyDone:
		s = of("applied", e.Object)
	case engine.ProvisionStart:
		s = of("provision", e.Object)
		s.Word = e.Type
	case engine.EphemeralStart:
		s = of("ephemeral", e.Object)
		s.Word = e.Verb
	case engine.EphemeralDone:
		s = of("done", e.Object)
	default:
		return nil
	}
	text, _ := json.Marshal(s) // never fails
	return text
}

// Stored records an event that Store has returned in another process. It ignores what isn't one.
func (l *Live) Stored(root string, text []byte) {
	var s storedEvent
	if json.Unmarshal(text, &s) != nil {
		return
	}
	addr, err := addrs.ParseInstanceText(s.Addr)
	if err != nil {
		return
	}
	o := engine.Object{Addr: addr, Deposed: s.Deposed, From: s.From}
	switch s.Event {
	case "refresh":
		l.RootEvent(root, engine.RefreshStart{Object: o})
	case "refreshed":
		l.RootEvent(root, engine.RefreshDone{Object: o})
	case "import":
		l.RootEvent(root, engine.ImportStart{Object: o})
	case "imported":
		l.RootEvent(root, engine.ImportDone{Object: o})
	case "apply":
		l.RootEvent(root, engine.ApplyStart{Object: o, Action: s.Action})
	case "applied":
		l.RootEvent(root, engine.ApplyDone{Object: o})
	case "provision":
		l.RootEvent(root, engine.ProvisionStart{Object: o, Type: s.Word})
	case "ephemeral":
		l.RootEvent(root, engine.EphemeralStart{Object: o, Verb: s.Word})
	case "done":
		l.RootEvent(root, engine.EphemeralDone{Object: o})
	}
}
