package ui

import (
	"encoding/json"
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/ui/termtext"
)

type (
	// ListStarted says that a list block is being run.
	ListStarted struct {
		Addr, Type string
		Config     cty.Value
	}
	// ListFound is an object that a list block has found.
	ListFound struct {
		Addr, Type, DisplayName string
		Identity                cty.Value
		IdentityText            string
		IdentityVersion         int64
		Object                  cty.Value // null if the list block doesn't include it
		// Resource and Import are the blocks that import the object; "" if they aren't wanted.
		Resource, Import string
	}
	// ListFinished says that a list block has ended.
	ListFinished struct {
		Addr, Type string
		Total      int
	}
)

func (ListStarted) message()  {}
func (ListFound) message()    {}
func (ListFinished) message() {}

// text returns the line about an object that was found, for people.
func (m ListFound) text() string {
	line := m.Addr + "   " + m.IdentityText
	if m.DisplayName != "" {
		line += "   " + m.DisplayName
	}
	return termtext.OneLine(line)
}

// text returns the line about the end of a list block, for people.
func (m ListFinished) text() string {
	objects := "objects"
	if m.Total == 1 {
		objects = "object"
	}
	return fmt.Sprintf("%s: %d %s found", termtext.OneLine(m.Addr), m.Total, objects)
}

func (h *human) queryMessage(m Message) {
	switch m := m.(type) {
	case ListStarted: // the objects follow
	case ListFound:
		h.write(h.Out, m.text()+"\n")
	case ListFinished:
		h.write(h.Out, h.style.As(termtext.Bold, m.text())+"\n\n")
	default:
		h.testMessage(m)
	}
}

func (p *jsonPrinter) queryMessage(m Message) {
	switch m := m.(type) {
	case ListStarted:
		p.line("info", m.Addr+": Starting query...", "list_start", entry{"list_start": entry{
			"address": m.Addr, "resource_type": m.Type, "input_config": valueJSON(withoutSecrets(m.Config))}})
	case ListFound:
		found := entry{"address": m.Addr, "resource_type": m.Type, "display_name": m.DisplayName,
			"identity": valueJSON(m.Identity), "identity_version": m.IdentityVersion}
		for name, text := range map[string]string{"config": m.Resource, "import_config": m.Import} {
			if text != "" {
				found[name] = text
			}
		}
		if !m.Object.IsNull() {
			found["resource_object"] = json.RawMessage(valueJSON(m.Object))
		}
		p.line("info", m.Addr+": Result found", "list_resource_found", entry{"list_resource_found": found})
	case ListFinished:
		p.line("info", m.Addr+": List complete", "list_complete", entry{"list_complete": entry{
			"address": m.Addr, "resource_type": m.Type, "total": m.Total}})
	default:
		p.testMessage(m)
	}
}
