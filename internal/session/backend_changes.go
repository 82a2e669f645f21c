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
	variables []string // what decides these arguments outside of the configuration, such as var.x
}

// ChangesFrom compares the settings with those with which the same backend was set up. root is the root
// module.
func (b *BackendSettings) ChangesFrom(stored cty.Value, root *configs.Module) BackendChanges {
	var out BackendChanges
	var attrs hcl.Attributes
	if block := root.BackendOrCloud(); block != nil {
		attrs, _ = block.Config.JustAttributes() // of nested blocks, only the values are compared
	}
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
			var from []string
			for _, name := range symbolsIn(attr.Expr) {
				variables := variablesBehind(name, root, map[string]bool{})
				out.variables = append(out.variables, variables...)
				if strings.HasPrefix(name, "local.") && len(variables) > 0 {
					name += " (" + strings.Join(variables, ", ") + ")"
				}
				from = append(from, name)
			}
			if len(from) > 0 {
				text += ", which comes from " + strings.Join(from, " and ")
			}
		}
		out.texts = append(out.texts, text)
	}
	slices.Sort(out.variables)
	out.variables = slices.Compact(out.variables)
	return out
}

// settingText returns the value of an argument as in a configuration.
func settingText(v cty.Value) string {
	if v.IsNull() {
		return "not set"
	}
	return string(hclwrite.TokensForValue(v).Bytes())
}

// symbolsIn returns the variables and locals that an expression refers to, and terraform.workspace, each
// once.
func symbolsIn(expr hcl.Expression) []string {
	var out []string
	for _, tr := range expr.Variables() {
		if len(tr) < 2 {
			continue
		}
		name := tr.RootName() + "." + addrs.StepName(tr[1])
		switch {
		case slices.Contains(out, name):
		case tr.RootName() == "var", tr.RootName() == "local", name == workspaceName:
			out = append(out, name)
		}
	}
	return out
}

const workspaceName = "terraform.workspace"

// variablesBehind returns the variables that decide the value of a symbol, and terraform.workspace.
func variablesBehind(symbol string, root *configs.Module, seen map[string]bool) []string {
	name, isLocal := strings.CutPrefix(symbol, "local.")
	switch local := root.Locals[name]; {
	case seen[symbol]:
		return nil
	case !isLocal:
		seen[symbol] = true
		return []string{symbol}
	case local == nil:
		return nil
	default:
		seen[symbol] = true
		var out []string
		for _, next := range symbolsIn(local.Expr) {
			out = append(out, variablesBehind(next, root, seen)...)
		}
		return out
	}
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
	value, them := "value", "it"
	if len(c.variables) > 1 {
		value, them = "values", "them"
	}
	how := "with -var, -var-file or the environment"
	if slices.Contains(c.variables, workspaceName) {
		how += ", and the workspace with TF_WORKSPACE"
	}
	return fmt.Sprintf("If %s should have the %s of that time, set %s again, %s. Otherwise run \"%s -migrate-state\" to "+
		"copy the existing state to the place that is configured now.", strings.Join(c.variables, " and "), value, them,
		how, initCommand)
}
