package engine

import (
	"path/filepath"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs"
	"tofu/internal/engine/reads"
	"tofu/internal/tfdiags"
)

// TestPaths checks that paths have slashes, but that a backslash in a name is kept.
func TestPaths(t *testing.T) {
	m := &reads.Module{Config: &configs.Config{Module: &configs.Module{Dir: `modules\x`}}}
	e := &evaluator{op: &operation{env: &Env{WorkDir: `/a\b`}}}
	c := e.newContext(t.Context(), newModuleInstance(m, addrs.RootInstance), repetition{})
	for name, want := range map[string]string{"cwd": filepath.ToSlash(`/a\b`),
		"module": filepath.ToSlash(`modules\x`), "root": "."} {
		if v, err := c.Value(addrs.PathAttr{Name: name}, hcl.Range{}); err != nil ||
			!v.RawEquals(cty.StringVal(want)) {
			t.Errorf("path.%s is %#v, %v; want %s", name, v, err, want)
		}
	}
	for _, subject := range []addrs.Referenceable{addrs.PathAttr{Name: "none"},
		addrs.TerraformAttr{Alias: "terraform", Name: "none"}} {
		if v, err := c.Value(subject, hcl.Range{}); len(tfdiags.FromError(err)) != 1 || tfdiags.FromError(err)[0].Subject == nil {
			t.Errorf("%s is %#v, %v", subject, v, err)
		}
	}
}
