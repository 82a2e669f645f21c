package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
)

// BackendChanges are the arguments of a backend block whose values differ from those with which the
// backend was set up.
type BackendChanges struct {
	texts     []string
	variables []string // names of the variables and locals that these arguments refer to, such as var.x
}

// ChangesFrom compares the settings with those with which the same backend was set up. block is the
// backend's block in the configuration, or nil.
func (b *BackendSettings) ChangesFrom(stored cty.Value, block *configs.Backend) BackendChanges {
	var out BackendChanges
	var attrs hcl.Attributes
	if block != nil {
		attrs, _ = block.Config.JustAttributes() // of nested blocks, only the values are compared
	}
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(b.Schema.Attributes)) {
		was, is := stored.GetAttr(name), b.Block.GetAttr(name)
		if is.IsNull() || was.RawEquals(is) { // what the block doesn't set may come from -backend-config
			continue
		}
		text := name + " differs"
		if !b.Schema.Attributes[name].Sensitive {
			text = fmt.Sprintf("%s was %s and is %s", name, settingText(was), settingText(is))
		}
		if attr := attrs[name]; attr != nil {
			if from := variablesIn(attr.Expr); len(from) > 0 {
				text += ", which comes from " + strings.Join(from, " and ")
				for _, v := range from {
					used[v] = true
				}
			}
		}
		out.texts = append(out.texts, text)
	}
	out.variables = slices.Sorted(maps.Keys(used))
	return out
}

// settingText returns the value of an argument as in a configuration.
func settingText(v cty.Value) string {
	if v.IsNull() {
		return "not set"
	}
	return string(hclwrite.TokensForValue(v).Bytes())
}

// variablesIn returns the variables and locals that an expression refers to, each once.
func variablesIn(expr hcl.Expression) []string {
	var out []string
	for _, tr := range expr.Variables() {
		if root := tr.RootName(); len(tr) < 2 || root != "var" && root != "local" {
			continue
		}
		if name := tr.RootName() + "." + addrs.StepName(tr[1]); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// String returns a list of the changes that continues a sentence, or "".
func (c BackendChanges) String() string {
	if len(c.texts) == 0 {
		return ""
	}
	return ": " + strings.Join(c.texts, "; ")
}

// Advice says what to do about the changes. initCommand is the command that sets up the backend. If a
// variable decides the place of the state, it may only be missing on the command line. A new place would
// then look like an empty state.
func (c BackendChanges) Advice(initCommand string) string {
	if len(c.variables) == 0 {
		return fmt.Sprintf("Run \"%s -migrate-state\" to copy the existing state to the backend that is configured now, or "+
			"\"%[1]s -reconfigure\" to use that backend without copying the state. If the change is not intended, undo it "+
			"in the configuration.", initCommand)
	}
	return fmt.Sprintf("If %s should have the value of that time, set the variable again, with -var, -var-file or the "+
		"environment. Otherwise run \"%s -migrate-state\" to copy the existing state to the place that is configured now.",
		c.variables[len(c.variables)-1], initCommand) // variables come after locals
}
