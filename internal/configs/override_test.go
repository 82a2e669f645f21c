package configs

import (
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configs/configschema"
)

const overrideText = `
-- main.tf --
variable "a" {
  type        = string
  default     = "1"
  description = "main"
}
locals {
  x = "main"
}
output "o" {
  value       = "main"
  description = "main"
}
resource "cloud_server" "s" {
  size = 1
  name = "main"
  disk {
    size = 1
  }
  dynamic "tag" {
    for_each = [1]
    content {}
  }
  provisioner "local-exec" {
    command = "main"
  }
  lifecycle {
    create_before_destroy = true
    ignore_changes        = [size]
  }
}
module "m" {
  source = "./m"
  a      = "main"
  b      = "main"
}
provider "cloud" {
  region = "main"
  zone   = "main"
}
-- m/main.tf --
variable "a" {}
variable "b" {}
variable "c" { default = "" }
-- a_override.tf --
variable "a" {
  type = number
}
locals {
  x = "over"
}
output "o" {
  value = "over"
}
resource "cloud_server" "s" {
  size = 2
  disk {
    size = 2
  }
  tag {}
  provisioner "remote-exec" {}
  lifecycle {
    ignore_changes = all
  }
}
-- override.tf --
module "m" {
  b = "over"
  c = "over"
}
provider "cloud" {
  zone = "over"
}
`

func TestOverride(t *testing.T) {
	m := load(t, overrideText, nil).Module
	if v := m.Variables["a"]; !v.Default.Value.RawEquals(cty.NumberIntVal(1)) || v.Description.Value != "main" {
		t.Errorf("variable: %#v", v.Default)
	}
	for name, expr := range map[string]hcl.Expression{"local": m.Locals["x"].Expr, "output": m.Outputs["o"].Expr} {
		if v, _ := expr.Value(nil); v.AsString() != "over" {
			t.Errorf("%s: %#v", name, v)
		}
	}
	r := m.Resources[addrs.Resource{Mode: addrs.Managed, Type: "cloud_server", Name: "s"}]
	if !r.Lifecycle.CreateBeforeDestroy.Value || !r.Lifecycle.IgnoreAll || len(r.Provisioners) != 1 ||
		r.Provisioners[0].Type != "remote-exec" {
		t.Errorf("resource: %+v", r)
	}
	content, diags := r.Config.Content(&hcl.BodySchema{
		Attributes: []hcl.AttributeSchema{{Name: "size", Required: true}, {Name: "name", Required: true}},
		Blocks: []hcl.BlockHeaderSchema{{Type: "disk"}, {Type: "tag"},
			{Type: "dynamic", LabelNames: []string{"type"}}},
	})
	if diags.HasErrors() || len(content.Blocks) != 2 || content.Blocks[0].DefRange.Filename != "a_override.tf" {
		t.Errorf("resource body: %v %v", content.Blocks, diags)
	}
	if size, _ := content.Attributes["size"].Expr.Value(nil); !size.RawEquals(cty.NumberIntVal(2)) {
		t.Errorf("size: %#v", size)
	}
	attrs, _ := m.Providers[addrs.LocalProviderConfig{LocalName: "cloud"}].Config.JustAttributes()
	if attrs["region"] == nil || attrs["zone"].Range.Filename != "override.tf" {
		t.Errorf("provider: %v", attrs)
	}
}

// TestOverrideWithDynamicBlock checks that blocks of a dynamic block override those of the base
// even if the schema has no dynamic blocks, and that a body with a dynamic block does not count as
// one without blocks.
func TestOverrideWithDynamicBlock(t *testing.T) {
	m := load(t, `
-- main.tf --
resource "cloud_server" "s" {
  tag {}
}
-- main_override.tf --
resource "cloud_server" "s" {
  dynamic "tag" {
    for_each = []
    content {}
  }
}
`, nil).Module
	body := m.Resources[addrs.Resource{Mode: addrs.Managed, Type: "cloud_server", Name: "s"}].Config
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "tag"}}})
	if len(content.Blocks) > 0 {
		t.Errorf("the base block was not replaced: %v", content.Blocks)
	}
	schema := &configschema.Block{
		BlockTypes: map[string]*configschema.NestedBlock{"tag": {Nesting: configschema.NestingList}}}
	if prepared := schema.Prepare(body); prepared != body {
		t.Errorf("prepared like a body without blocks: %#v", prepared)
	}
}
