package browser

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
)

var pictures = flag.String("pictures", "", "write pictures of the page into this `directory`")

// city is the configuration that the pictures show.
var city = map[string]string{
	"main.tf": `
variable "region" {
  default = "north"
}
variable "nodes" {
  default = 3
}
module "network" {
  source = "./network"
  region = var.region
}
module "database" {
  source  = "./database"
  subnets = module.network.subnets
}
module "cluster" {
  source  = "./cluster"
  subnets = module.network.subnets
  nodes   = var.nodes
}
module "monitoring" {
  source  = "./monitoring"
  targets = concat(module.cluster.nodes, module.database.replicas)
}
resource "terraform_data" "dns" {
  for_each = { api = module.cluster.balancer, metrics = module.monitoring.dashboard }
  input    = each.value
}
`,
	"network/main.tf": `
variable "region" {}
resource "terraform_data" "vpc" {
  triggers_replace = var.region
  input            = "10.0.0.0/16"
}
resource "terraform_data" "subnet" {
  for_each         = toset(["a", "b", "c"])
  input            = each.key
  triggers_replace = terraform_data.vpc.id
}
resource "terraform_data" "gateway" {
  input = terraform_data.vpc.id
}
resource "terraform_data" "route" {
  for_each = terraform_data.subnet
  input    = "${each.value.id} via ${terraform_data.gateway.id}"
}
output "subnets" {
  value = [for s in terraform_data.subnet : s.id]
}
`,
	"database/main.tf": `
variable "subnets" {}
resource "terraform_data" "group" {
  input = var.subnets
}
resource "terraform_data" "primary" {
  input = { group = terraform_data.group.id, password = sensitive("secret") }
}
resource "terraform_data" "replica" {
  count = 2
  input = terraform_data.primary.id
}
output "replicas" {
  value = terraform_data.replica[*].id
}
`,
	"cluster/main.tf": `
variable "subnets" {}
variable "nodes" {}
resource "terraform_data" "control_plane" {
  input = var.subnets
}
resource "terraform_data" "node" {
  count = var.nodes
  input = { plane = terraform_data.control_plane.id, number = count.index }
}
resource "terraform_data" "balancer" {
  input = terraform_data.node[*].id
}
output "nodes" {
  value = terraform_data.node[*].id
}
output "balancer" {
  value = terraform_data.balancer.id
}
`,
	"monitoring/main.tf": `
variable "targets" {}
resource "terraform_data" "collector" {
  for_each = toset(["logs", "metrics"])
  input    = { kind = each.key, targets = var.targets }
}
resource "terraform_data" "dashboard" {
  input = [for c in terraform_data.collector : c.id]
}
output "dashboard" {
  value = terraform_data.dashboard.id
}
`,
}

// TestPictures takes pictures of the plan page of one root module, if -pictures is set.
func TestPictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("-pictures is not set")
	}
	needBrowser(t)
	before := maps.Clone(city)
	before["old.tf"] = "resource \"terraform_data\" \"bastion\" {\n  count = 2\n}\n"
	w := newWorkdir(t, before)
	w.run("apply", "-auto-approve")
	if err := os.Remove(filepath.Join(w.dir, "old.tf")); err != nil {
		t.Fatal(err)
	}
	w.run("plan", "-var=region=south", "-var=nodes=5", "-out=city.tfplan")
	w.run("show", "-format=html", "-out=p.html", "city.tfplan")
	inBothThemes(t, w.open, "plan", func(p *tab) {
		p.enter("module.network")
		p.enter("module.cluster")
		p.enter("module.network.terraform_data.vpc")
		p.says("#heading", "must be replaced")
	})
}

// TestEstatePictures takes pictures of the plan page of many root modules, if -pictures is set.
func TestEstatePictures(t *testing.T) {
	if *pictures == "" {
		t.Skip("-pictures is not set")
	}
	needBrowser(t)
	w := &workdir{t, t.TempDir()}
	if err := os.CopyFS(w.dir, os.DirFS(filepath.Join("..", "..", "examples", "estate"))); err != nil {
		t.Fatal(err)
	}
	if err := w.fill(map[string]string{}); err != nil {
		t.Fatal(err)
	}
	w.run("roots", "init")
	w.run("roots", "apply", "-auto-approve", "-skip=**/search")
	err := w.fill(map[string]string{"network/prod.tfvars": "zones = 4\n", "cluster/prod.tfvars": "machines = 1\n",
		"service/release.tftpl": "${name} 2 runs on ${cluster}\n"})
	if err != nil {
		t.Fatal(err)
	}
	w.run("roots", "plan", "-out=estate.plan")
	w.run("show", "-format=html", "-out=p.html", "estate.plan")
	inBothThemes(t, w.open, "estate", func(p *tab) {
		p.enter("prod/eu/cluster")
		p.says("#panel", "READ BY") // the style sheet turns the heading into capitals
	})
}

// inBothThemes takes pictures of the page p.html in the light and in the dark theme, after the
// given steps.
func inBothThemes(t *testing.T, open func(string) *tab, name string, steps func(*tab)) {
	t.Helper()
	for i, theme := range []string{"light", "dark"} {
		p := open("p.html")
		for range i + 1 {
			p.click("#theme")
		}
		steps(p)
		image, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(*pictures, name+"-"+theme+".png"), image, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}
