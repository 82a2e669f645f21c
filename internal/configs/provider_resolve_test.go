package configs

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
)

const providersText = `
-- main.tf --
terraform {
  required_providers {
    cloud = {
      source  = "acme/cloud"
      version = ">= 1.0"
    }
  }
}
provider "cloud" {}
provider "cloud" {
  alias = "west"
}
provider "cloud" {
  alias    = "by_zone"
  for_each = { a = 1, b = 2 }
}
module "plain" {
  source = "./net"
}
module "west" {
  source    = "./net"
  providers = { net = cloud.west }
}
module "zones" {
  source   = "./net"
  for_each = toset(["a", "b"])
  providers = {
    net = cloud.by_zone[each.key]
  }
}
resource "cloud_server" "west" {
  provider = cloud.west
}
resource "cloud_server" "zone" {
  provider = cloud.by_zone["a"]
}
resource "cloud_server" "nowhere" {
  provider = cloud.nowhere
}
resource "terraform_data" "built_in" {}
resource "other_thing" "implied" {}
-- net/main.tf --
terraform {
  required_providers {
    net = {
      source  = "acme/cloud"
      version = "< 2.0"
    }
  }
}
resource "cloud_net" "it" {
  provider = net
}
module "sub" {
  source = "./sub"
}
module "own" {
  source = "../own"
}
-- net/sub/main.tf --
terraform {
  required_providers {
    cloud = { source = "acme/cloud" }
  }
}
resource "cloud_net" "it" {}
-- own/main.tf --
terraform {
  required_providers {
    cloud = { source = "acme/cloud" }
  }
}
provider "cloud" {
  region = "own"
}
resource "cloud_net" "it" {}
`

// providersWant maps each resource to the expected provider configuration. If the configuration has
// an instance key, the words after "key" say where it is evaluated.
var providersWant = map[string]string{
	"cloud_server.west":       `provider["registry.opentofu.org/acme/cloud"].west`,
	"cloud_server.zone":       `provider["registry.opentofu.org/acme/cloud"].by_zone key in ""`,
	"cloud_server.nowhere":    "none",
	"terraform_data.built_in": `provider["terraform.io/builtin/terraform"]`,
	"other_thing.implied":     `provider["registry.opentofu.org/hashicorp/other"]`,
	"plain.cloud_net.it":      `provider["registry.opentofu.org/acme/cloud"]`,
	"west.cloud_net.it":       `provider["registry.opentofu.org/acme/cloud"].west`,
	"zones.cloud_net.it":      `provider["registry.opentofu.org/acme/cloud"].by_zone key of call zones in ""`,
	"plain.sub.cloud_net.it":  `provider["registry.opentofu.org/acme/cloud"]`,
	"west.sub.cloud_net.it":   `provider["registry.opentofu.org/acme/cloud"].west`,
	"zones.sub.cloud_net.it":  `provider["registry.opentofu.org/acme/cloud"].by_zone key of call zones in ""`,
	"plain.own.cloud_net.it":  `module.plain.module.own.provider["registry.opentofu.org/acme/cloud"]`,
	"west.own.cloud_net.it":   `module.west.module.own.provider["registry.opentofu.org/acme/cloud"]`,
}

func TestProviders(t *testing.T) {
	// A module with its own provider configuration can't be called with for_each, so that call uses
	// the module in ./each instead. TestDiagnostics checks the error.
	text := strings.Replace(providersText, `source   = "./net"`, `source   = "./each"`, 1) + `
-- each/main.tf --
terraform {
  required_providers {
    net = {
      source  = "acme/cloud"
      version = "< 2.0"
    }
  }
}
resource "cloud_net" "it" {
  provider = net
}
module "sub" {
  source = "../net/sub"
}
`
	root := load(t, text, nil)
	got := map[string]string{}
	for cfg := range root.AllModules() {
		for addr, r := range cfg.Module.Resources {
			use, ok := cfg.ProviderOf(r)
			s := "none"
			if ok {
				s = use.Config.String()
			}
			if use.KeyCall != nil {
				s += " key of call " + use.KeyCall.Name + fmt.Sprintf(" in %q", use.KeyModule.Path)
			} else if use.Key != nil {
				s += fmt.Sprintf(" key in %q", use.KeyModule.Path)
			}
			got[string(cfg.Path.Child(addr.String()))] = s
		}
	}
	if diff := cmp.Diff(providersWant, got); diff != "" {
		t.Error(diff)
	}

	instances := root.ProviderInstances[addrs.LocalProviderConfig{LocalName: "cloud", Alias: "by_zone"}]
	if len(instances) != 2 || !instances[addrs.StringKey("b")].RawEquals(cty.NumberIntVal(2)) {
		t.Errorf("instances: %#v", instances)
	}
	var types []string
	for _, p := range slices.SortedFunc(maps.Keys(root.ProviderRequirements()), addrs.Provider.Compare) {
		types = append(types, p.ForDisplay())
	}
	if diff := cmp.Diff([]string{"acme/cloud", "hashicorp/other",
		"terraform.io/builtin/terraform"}, types); diff != "" {
		t.Error(diff)
	}
	constraints := map[string]bool{}
	for _, req := range root.ProviderRequirements()[addrs.Provider{Host: addrs.DefaultHost, Namespace: "acme",
		Type: "cloud"}] {
		constraints[fmt.Sprintf("%s %d", req.Module, len(req.Constraints))] = true
	}
	for _, want := range []string{" 1", "module.plain 1", "module.plain.module.sub 0",
		"module.plain.module.own 0", "module.west 1"} {
		if !constraints[want] {
			t.Errorf("missing requirement of %q in %v", want, slices.Sorted(maps.Keys(constraints)))
		}
	}
}
