package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// remoteState returns a data source that reads the state of another directory.
func remoteState(name, dir string) string {
	return fmt.Sprintf("data \"terraform_remote_state\" %q {\n  backend = \"local\"\n  config  = { path = %q }\n}\n", name,
		"../../"+dir+"/terraform.tfstate")
}

// town is an estate whose root modules have all kinds of results: changes, no changes, deferred
// changes, a failure, and a root module that is skipped because of the failure.
var town = map[string]string{
	"prod/network/main.tf": `
variable "cidr" {
  default = "10.0.0.0/16"
}
resource "terraform_data" "vpc" {
  input            = var.cidr
  triggers_replace = var.cidr
}
module "subnets" {
  source = "./subnets"
  vpc    = terraform_data.vpc.id
}
output "vpc" {
  value = terraform_data.vpc.id
}
output "cidr" {
  value = terraform_data.vpc.output
}
output "token" {
  value     = "topsecret"
  sensitive = true
}
`,
	"prod/network/subnets/main.tf": `
variable "vpc" {}
resource "terraform_data" "subnet" {
  count = 3
  input = "${var.vpc}/${count.index}"
}
`,
	"prod/cluster/main.tf": remoteState("network", "prod/network") + `
resource "terraform_data" "cluster" {
  input = data.terraform_remote_state.network.outputs.vpc
}
resource "terraform_data" "node" {
  for_each = toset([terraform_data.cluster.output])
  input    = each.key
}
output "nodes" {
  value = [for n in terraform_data.node : n.id]
}
`,
	"prod/shop/main.tf": remoteState("cluster", "prod/cluster") + remoteState("calm", "dev/calm") + `
resource "terraform_data" "shop" {
  input = data.terraform_remote_state.cluster.outputs.nodes
}
resource "terraform_data" "zone" {
  input = data.terraform_remote_state.calm.outputs.zone
}
`,
	"dev/calm/main.tf": `
resource "terraform_data" "calm" {}
output "zone" {
  value = "calm.example.com"
}
`,
	"dev/broken/main.tf": remoteState("calm", "dev/calm") + `
variable "n" {
  default = 3
  validation {
    condition     = var.n > 5
    error_message = "More than 5 are needed."
  }
}
resource "terraform_data" "x" {
  input = data.terraform_remote_state.calm.outputs.zone
}
`,
	"dev/later/main.tf": remoteState("broken", "dev/broken") + `
resource "terraform_data" "x" {
  input = data.terraform_remote_state.broken.outputs
}
`,
}

// townPlan returns the plan file that most tests share.
var townPlan = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "town")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	w := &workdir{dir: dir}
	if err := w.fill(town); err != nil {
		return nil, err
	}
	for _, args := range [][]string{{"init"}, {"apply", "-auto-approve", "-only=prod/network", "-only=dev/calm"}} {
		if err := w.try(append([]string{"roots"}, args...)...); err != nil {
			return nil, err
		}
	}
	changed := strings.Replace(town["prod/network/main.tf"], "10.0", "10.1", 1)
	if err := w.fill(map[string]string{"prod/network/main.tf": changed}); err != nil {
		return nil, err
	}
	err = w.try("roots", "plan", "-out=town.plan")
	if err == nil || !strings.Contains(err.Error(), "1 failed (dev/broken), 1 not started (dev/later)") {
		return nil, fmt.Errorf("the plan must have one failure: %w", err)
	}
	return os.ReadFile(filepath.Join(dir, "town.plan"))
})

func openTown(t *testing.T) *tab {
	needBrowser(t)
	plan, err := townPlan()
	if err != nil {
		t.Fatal(err)
	}
	w := &workdir{t, t.TempDir()}
	if err := w.fill(map[string]string{"town.plan": string(plan)}); err != nil {
		t.Fatal(err)
	}
	w.run("show", "-format=html", "-out=p.html", "town.plan")
	return w.open("p.html")
}

// allRoots are the root modules that the graph shows for the town.
var allRoots = []string{"dev/broken", "dev/calm", "dev/later", "prod/cluster", "prod/network", "prod/shop"}

// rootNumber returns the value of the filter option for a root module.
func rootNumber(p *tab, name string) string {
	p.t.Helper()
	return eval[string](p, `[...document.querySelectorAll('#root option')].find((o) => o.text === `+quote(name)+`).value`)
}

func TestRootModules(t *testing.T) {
	p := openTown(t)
	sameBoxes(t, p, slices.Clone(allRoots)...)
	p.says("#summary",
		"3 of 6 root modules change: 4 to add, 3 to change, 1 to destroy; 1 deferred. 1 failed. 1 not started.")
	texts := eval[string](p, `[...document.querySelectorAll('.reads')].map((e) => e.textContent).join()`)
	for _, want := range []string{"vpc", "nodes", "all outputs"} {
		if !strings.Contains(texts, want) {
			t.Errorf("the edges say %q, which lacks %q", texts, want)
		}
	}
	for address, want := range map[string]string{"prod/network": "±1", "prod/cluster": "…1",
		"dev/broken": "planning failed", "dev/later": "not planned", "dev/calm": "no changes",
		"prod/shop": "waits for others"} {
		text := eval[string](p, `document.querySelector('.item[data-address=`+quote(address)+`]').textContent`)
		if !strings.Contains(text, want) {
			t.Errorf("the box of %s says %q, want %q", address, text, want)
		}
	}

	// Selecting a root module shows what it reads. Selecting it again opens its own graph.
	p.enter("prod/cluster")
	p.says("#panel", "output.vpc of prod/network")
	p.says("#panel", "vpc (data.terraform_remote_state.network)")
	p.says("#panel", "prod/cluster/main.tf:1")
	p.says("#panel", "known after apply: nodes")
	sameBoxes(t, p, slices.Clone(allRoots)...)
	p.enter("prod/cluster")
	sameBoxes(t, p, "prod/network", "data.terraform_remote_state.network", "terraform_data.cluster",
		"terraform_data.node", "prod/shop")
	p.says("#places", "prod/cluster")
	p.enter("terraform_data.cluster")
	p.says("#heading", "will be created")
	p.says("#panel", "in prod/cluster")
	p.enter("prod/network") // moves from one root module to another
	sameBoxes(t, p, "module.subnets", "terraform_data.vpc", "prod/cluster")
	p.says("#outputs", "known after apply: vpc (was")
	p.enter("terraform_data.vpc")
	p.says(".diff", `"10.0.0.0/16" -> "10.1.0.0/16" # forces replacement`)
	p.click("#all-roots")
	sameBoxes(t, p, slices.Clone(allRoots)...)

	p.enter("dev/broken")
	p.says("#panel", "More than 5 are needed.")
	p.says("#panel", "dev/broken/main.tf:6")
	p.enter("dev/broken") // planning it failed, so it has no graph to open
	sameBoxes(t, p, slices.Clone(allRoots)...)
	p.enter("dev/later")
	p.says("#heading", "Not planned: it needs dev/broken, which failed.")
	p.enter("prod/shop")
	p.says("#heading", "This will be applied later: it waits for deferred changes of prod/cluster.")
	p.enter("dev/calm")
	p.says("#heading", "No changes.")
	p.says("#panel", "zone (data.terraform_remote_state.calm)")
	if content := eval[string](p, "document.documentElement.outerHTML"); strings.Contains(content, "topsecret") {
		t.Error("the page contains a sensitive value")
	}
}

// TestMovesBetweenRootModules checks that the page of an estate shows which objects move before the plans.
func TestMovesBetweenRootModules(t *testing.T) {
	needBrowser(t)
	w := &workdir{t, t.TempDir()}
	block := "resource \"terraform_data\" \"b\" {}\n"
	if err := w.fill(map[string]string{"old/main.tf": block, "new/main.tf": "", "other/main.tf": block}); err != nil {
		t.Fatal(err)
	}
	w.run("roots", "init")
	w.run("roots", "apply", "-auto-approve")
	moved := "moved {\n  from = root[\"old\"].terraform_data.b\n  to   = terraform_data.a\n}\n"
	if err := w.fill(map[string]string{"old/main.tf": "", "new/main.tf": moved + "resource \"terraform_data\" \"a\" {}\n"}); err != nil {
		t.Fatal(err)
	}
	w.run("roots", "plan", "-out=moves.plan")
	w.run("show", "-format=html", "-out=p.html", "moves.plan")
	p := w.open("p.html")
	p.says("#moves", `root["old"].terraform_data.b to root["new"].terraform_data.a`)
}

// TestChecksOfRootModules checks that a root module without changes shows its failed checks: in the graph, also
// if unchanged root modules are hidden, at the start and in its details.
func TestChecksOfRootModules(t *testing.T) {
	needBrowser(t)
	w := newWorkdir(t, map[string]string{"calm/main.tf": `
check "size" {
  assert {
    condition     = length(path.cwd) < 1
    error_message = "It is too long."
  }
}
`, "quiet/main.tf": "", "new/main.tf": `resource "terraform_data" "x" {}`})
	w.run("roots", "init")
	w.run("roots", "plan", "-out=all.plan")
	w.run("show", "-format=html", "-out=p.html", "all.plan")
	p := w.open("p.html")
	p.says("#summary", "1 of 3 root modules changes: 1 to add, 0 to change, 0 to destroy. 1 check failed.")
	p.says("#panel", "FAILED CHECKS")
	p.says(`#panel .entry[data-root="0"]`, "calm")
	p.says(`#panel .entry[data-root="0"]`, "1 failed check")
	p.click(`[data-action="unchanged"]`)
	sameBoxes(t, p, "calm", "new")
	if text := eval[string](p, `document.querySelector('.item[data-address="calm"]').textContent`); !strings.Contains(text, "1 failed check") {
		t.Errorf("the box says %q", text)
	}
	p.enter("calm")
	p.says("#panel", "CHECKS: 1 FAILED")
	p.says(".problem", "calm/main.tf:4")
	p.says(".problem", "It is too long.")
}

func TestFiltersOfRootModules(t *testing.T) {
	p := openTown(t)
	p.click(`[data-action="unchanged"]`)
	sameBoxes(t, p, "dev/broken", "dev/later", "prod/cluster", "prod/network", "prod/shop")
	p.set("#module", "module.subnets")
	sameBoxes(t, p, "prod/network")
	p.set("#module", "")
	p.set("#type", "terraform_remote_state")
	sameBoxes(t, p, "prod/cluster", "prod/shop")
	p.set("#type", "")
	for _, action := range []string{"replace", "update", "create", "read"} {
		p.click(`[data-action=` + quote(action) + `]`)
	}
	sameBoxes(t, p, "dev/broken", "dev/later", "prod/cluster", "prod/shop") // deferred, failed and waiting root modules
	for _, action := range []string{"replace", "update", "create", "read"} {
		p.click(`[data-action=` + quote(action) + `]`)
	}
	p.set("#root", rootNumber(p, "prod/network"))
	if at := p.text("#places strong"); !slices.Contains(p.boxes(), "terraform_data.vpc") || at != "prod/network" {
		t.Errorf("the filter of root modules opens %q, with %q", at, p.boxes())
	}
	p.set("#root", "")

	// The search finds objects in all root modules, and root modules by their names.
	p.do(chromedp.SendKeys(chromedp.CSS("#search"), "prod vpc"))
	p.says("#results", "3 results") // an object, an output and a variable
	p.click("#panel .entry")
	p.says("#panel h2", "terraform_data.vpc")
	p.says("#places", "prod/network")
	p.set("#search", "broken")
	p.says("#panel .entry", "dev/broken")
	p.click("#panel .entry")
	p.says("#panel", "More than 5 are needed.")
	sameBoxes(t, p, "dev/broken", "dev/later", "prod/cluster", "prod/network", "prod/shop")
}

func TestListOfRootModules(t *testing.T) {
	p := openTown(t)
	p.do(chromedp.Focus(chromedp.CSS(`.item[data-address="dev/calm"]`)), chromedp.KeyEvent(kb.ArrowRight),
		chromedp.KeyEvent(kb.Enter))
	p.says("#panel h2", "dev/broken")
	p.do(chromedp.Focus(chromedp.CSS(`.item[data-address="prod/network"]`)), chromedp.KeyEvent(kb.Enter),
		chromedp.KeyEvent(kb.Enter))
	p.says("#places", "prod/network")
	if at := eval[string](p, `document.activeElement.dataset.address || ''`); !slices.Contains(p.boxes(), at) {
		t.Errorf("opening a root module moves the focus to %q, want one of %q", at, p.boxes())
	}
	p.do(chromedp.KeyEvent(kb.Escape))
	sameBoxes(t, p, slices.Clone(allRoots)...)

	p.click("#view-list")
	p.says("#list h2", "Root modules (6)")
	for _, want := range []string{"Replace (1)", "prod/network terraform_data.vpc", "Outputs (3)",
		"prod/cluster output.nodes", "planning failed"} {
		p.says("#list", want)
	}
	network := rootNumber(p, "prod/network")
	p.do(chromedp.Focus(chromedp.CSS(`#list .entry[data-root="`+network+`"]`)), chromedp.KeyEvent(kb.Enter))
	if at := eval[string](p, `document.activeElement.id`); at != "panel" {
		t.Errorf("opening an entry moves the focus to %q, want the panel", at)
	}
	p.says("#panel h2", "prod/network")
	p.click("#list .entry[data-output]")
	p.says("#panel .diff", `cidr (was "10.0.0.0/16")`)
	p.set("#root", network)
	text := p.text("#list")
	if strings.Contains(text, "Root modules") || strings.Contains(text, "nodes") || !strings.Contains(text, "Update (3)") {
		t.Errorf("the list of one root module is\n%s", text)
	}
}

func TestPathsBetweenRootModules(t *testing.T) {
	p := openTown(t)
	ask := func(first, second string) {
		t.Helper()
		p.set("#first", first)
		p.set("#second", second)
		p.click("#why button")
	}
	ask("prod/network", "prod/shop")
	p.says("#panel h2", "prod/network is before prod/shop")
	p.says("#answer", "reads nodes of prod/cluster")
	p.says("#answer", "reads vpc of prod/network")
	ask("prod/network: terraform_data.vpc", "prod/shop: terraform_data.shop")
	p.says("#panel h2", "prod/network: terraform_data.vpc is before prod/shop: terraform_data.shop")
	p.says("#answer", "refers to prod/network: output.vpc")
	p.click("#everything")
	ask("prod/shop: terraform_data.zone", "dev/calm") // the page contains no plan for dev/calm
	p.says("#panel h2", "It is the other way around")
	p.says("#answer", "refers to dev/calm")
	ask("dev/calm", "prod/network")
	p.says("#answer", "don’t wait for one another")
}

func TestGraphOfRootModules(t *testing.T) {
	needBrowser(t)
	w := &workdir{t, t.TempDir()}
	if err := w.fill(town); err != nil {
		t.Fatal(err)
	}
	w.run("roots", "init")
	w.run("roots", "graph", "-format=html", "-out=g.html")
	p := w.open("g.html")
	p.says("#title", "Graph of the root modules")
	sameBoxes(t, p, slices.Clone(allRoots)...)
	p.enter("prod/network")
	p.enter("prod/network")
	sameBoxes(t, p, "module.subnets", "terraform_data.vpc", "prod/cluster")
	p.enter("terraform_data.vpc")
	p.says("#panel .place", "prod/network/main.tf:5")
	p.click("#all-roots")
	p.click("#view-list")
	p.says("#list h2", "Root modules (6)")
	p.says("#list", "Resources (14)")
}

// TestManyRootModules checks a page with 500 root modules of 20 instances each.
func TestManyRootModules(t *testing.T) {
	needBrowser(t)
	files := map[string]string{}
	for i := range 500 {
		var text strings.Builder
		input := `"first"`
		if i >= 20 {
			text.WriteString(remoteState("up", fmt.Sprintf("group%02d/r%03d", (i-20)/25, i-20)))
			input = "data.terraform_remote_state.up.outputs.id"
		}
		for _, name := range []string{"a", "b"} {
			fmt.Fprintf(&text, "resource \"terraform_data\" %q {\n  count = 10\n  input = %s\n}\n", name, input)
			input = "terraform_data.a[count.index].id"
		}
		text.WriteString("output \"id\" {\n  value = terraform_data.b[0].id\n}\n")
		files[fmt.Sprintf("group%02d/r%03d/main.tf", i/25, i)] = text.String()
	}
	w := &workdir{t, t.TempDir()}
	if err := w.fill(files); err != nil {
		t.Fatal(err)
	}
	w.run("roots", "plan", "-out=all.plan")
	w.run("show", "-format=html", "-out=p.html", "all.plan")
	if info, err := os.Stat(filepath.Join(w.dir, "p.html")); err != nil || info.Size() > 16<<20 {
		t.Errorf("the page has %d bytes (%v)", info.Size(), err)
	}
	p := w.openQuickly("p.html")
	p.says("#summary", "500 of 500 root modules change: 10000 to add")
	if n := len(p.boxes()); n > 120 || n < 10 {
		t.Errorf("the graph shows %d boxes at first", n)
	}
	for i := range 20 { // open all groups, which must not exceed the limit of boxes
		selector := fmt.Sprintf(`.item[data-address="group%02d/"]`, i)
		p.run(`document.querySelector(` + quote(selector) + `).dispatchEvent(new MouseEvent('click'))`)
	}
	if n := len(p.boxes()); n != 500 {
		t.Errorf("the graph shows %d boxes, want 500", n)
	}
	p.do(chromedp.SendKeys(chromedp.CSS("#search"), "r321 b[7]"))
	p.says("#results", "1 result")
	p.click("#panel .entry")
	p.says("#heading", "terraform_data.b[7] will be created")
	sameBoxes(t, p, "data.terraform_remote_state.up", "terraform_data.a[0..9]", "terraform_data.b[0..9]",
		"group12/r301", "group13/r341")
	p.set("#search", "")
	p.set("#root", "")
	p.click("#view-list")
	p.says("#list", "Create (10,000)")
	p.says("#list h2", "Root modules (500)")
}

// TestHostileRootModules checks that markup and scripts in the texts of root modules have no effect
// on the page.
func TestHostileRootModules(t *testing.T) {
	needBrowser(t)
	const name = `</script><img src=x onerror=window.pwned=1><!--<script>`
	const attack = name + `\u202egnp` // which a name can't contain
	w := &workdir{t, t.TempDir()}
	err := w.fill(map[string]string{
		"roots.tofu.hcl": `
root "a" {
  name = "` + name + `"
  path = "<b onclick=alert(1)>"
}
root "b" {
  name      = "<i>b"
  path      = "b"
  variables = { v = root["` + name + `"].out }
}
root "c" {
  name      = "<u>c"
  path      = "c"
  variables = { v = root["` + name + `"].out }
}
`,
		"<b onclick=alert(1)>/<i>.tf": "resource \"terraform_data\" \"a\" {\n  input = \"" + attack + "\"\n}\n" +
			"output \"out\" {\n  value = terraform_data.a.output\n}\n",
		"b/main.tf": "variable \"v\" {}\nresource \"terraform_data\" \"b\" {\n  input = var.v\n}\n",
		"c/main.tf": "variable \"v\" {}\nvariable \"w\" {\n  default = 1\n  validation {\n    condition = var.w > 1\n" +
			"    error_message = \"" + attack + ".\"\n  }\n}\n",
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.try("roots", "plan", "-out=<img src=x>.plan"); err == nil || !strings.Contains(err.Error(), "1 failed") {
		t.Fatalf("the plan must have one failure: %v", err)
	}
	w.run("show", "-format=html", "-out=p.html", "<img src=x>.plan")
	p := w.open("p.html")
	p.says("#title", "<img src=x>.plan")
	p.enter("<i>b")
	p.says("#panel", "out (var.v)")
	p.says("#panel", "output.out of </script><img")
	p.enter("<i>b")
	p.says("#places", "<i>b")
	p.click("#all-roots")
	p.enter("<u>c")
	p.says("#panel .problem", `<img src=x onerror=window.pwned=1><!--<script>\u202egnp`)
	p.click("#view-list")
	p.says("#list", name)
	for i := range eval[int](p, `document.querySelectorAll('#list .entry').length`) {
		p.run(fmt.Sprintf(`document.querySelectorAll('#list .entry')[%d].click()`, i))
	}
	if eval[bool](p, `'pwned' in window || document.querySelector('img, b, i, u') !== null || `+
		`document.scripts.length !== document.querySelectorAll('script[type="application/json"]').length + 1`) {
		t.Error("something in a root module became part of the page")
	}
}
