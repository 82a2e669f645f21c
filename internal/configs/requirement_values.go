package configs

import (
	"encoding/json"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/tfdiags"
)

// requirementValues holds the values of arguments in required_providers that refer to variables or local
// values, by their places. A module whose requirements have other values is decoded again, because
// the source of a provider decides what its resources and provider blocks refer to.
type requirementValues map[string]string

func requirementPlace(expr hcl.Expression) string {
	rng := expr.Range()
	return fmt.Sprintf("%s:%d", rng.Filename, rng.Start.Byte)
}

func decodeRequirementValues(text string) (requirementValues, error) {
	if text == "" {
		return nil, nil
	}
	var out requirementValues
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		return nil, fmt.Errorf("decoding provider requirements: %w", err)
	}
	return out, nil
}

// dynamic reports whether an argument of required_providers refers to variables or local values. If its
// value is known, it calls set.
func (d *decoder) dynamic(expr hcl.Expression, set func(text string)) bool {
	if _, diags := expr.Value(nil); !diags.HasErrors() || len(expr.Variables()) == 0 {
		return false
	}
	d.file.dynamic = append(d.file.dynamic, expr)
	if text, ok := d.known[requirementPlace(expr)]; ok {
		set(text)
	}
	return true
}

// withRequirements evaluates the arguments in required_providers that refer to variables or local values
// and returns the module with the results. Arguments whose values are not known yet are left out.
func (c *Config) withRequirements(m *Module, part Part) (*Module, error) {
	known := requirementValues{}
	var errs tfdiags.Diagnostics
	for _, expr := range m.dynamic {
		v, err := c.StaticEval(expr, cty.String, "required_providers")
		switch {
		case err != nil:
			errs = errs.AppendError(err)
		case v.IsNull():
			errs.Add(tfdiags.Errorf("Invalid required_providers object",
				"The value must not be null. Leave the argument out if there is nothing to require.").At(expr.Range()))
		case v.IsKnown():
			known[requirementPlace(expr)] = v.AsString()
		}
	}
	if err := errs.Err(); err != nil {
		return m, err
	}
	text, err := json.Marshal(known)
	if err != nil {
		return m, err
	}
	// The warnings are known from the first decoding.
	out, err := c.static.env.parser.module(moduleKey{dir: m.Dir, part: part, known: string(text)}, tfdiags.Drop)
	if out == nil {
		return m, err
	}
	return out, err
}
