package warm

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/plans"
	"tofu/internal/session"
	"tofu/internal/tfdiags"
	"tofu/internal/ui"
)

// TestColdAndWarm makes random edits to random configurations, on disk and as unsaved texts, and applies
// some of the plans. Each answer must equal, byte for byte, that of a core that knows nothing.
// EDITS=N makes N edits of each kind of configuration, and EDIT_SEED=N the same ones again.
func TestColdAndWarm(t *testing.T) {
	edits := fromEnv(t, "EDITS", 200)
	seed := uint64(fromEnv(t, "EDIT_SEED", int(time.Now().UnixNano()%1e6)))
	t.Logf("EDIT_SEED=%d", seed)
	const perConfiguration = 50
	for name, make := range map[string]func() kind{"builtin": func() kind { return builtinKind{} },
		"plugins": func() kind { return pluginKind{} }, "estate": func() kind { return estateKind{} }} {
		t.Run(name, func(t *testing.T) {
			for round := 0; round*perConfiguration < edits; round++ {
				t.Run(strconv.Itoa(round), func(t *testing.T) {
					w := newWorld(t, make(), rand.New(rand.NewPCG(seed, uint64(round))))
					for range min(edits-round*perConfiguration, perConfiguration) {
						w.edit()
						w.compare()
					}
					t.Logf("%d of %d plans without errors, most often %q", w.planned, w.asked, w.worst())
				})
			}
		})
	}
}

// kind is a kind of random configuration.
type kind interface {
	// prepare writes what the configuration needs into the working directory, and returns the configuration
	// of the program.
	prepare(t *testing.T) *cliconfig.Config
	names() []string                   // of the files
	text(w *world, name string) string // a random text of a file
	outside(w *world)                  // changes something that is no configuration
	open(c *Core) ([]*Module, error)   // the root modules
	check(w *world, opts PlanOptions)  // compares with something else
}

func fromEnv(t testing.TB, name string, usual int) int {
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// world is a configuration that changes.
type world struct {
	kind
	t       *testing.T
	rnd     *rand.Rand
	cli     *cliconfig.Config
	core    *Core
	modules []*Module
	texts   map[string]string // the files of the configuration
	given   map[string]bool   // those that are not saved
	planned int               // plans without errors
	asked   int               // all plans
	anew    bool              // something was changed outside, so the next plan reads everything again
	log     []string
	errors  map[string]int // by their first words
}

// worst returns the most frequent error of plans.
func (w *world) worst() (out string) {
	for text, n := range w.errors {
		if n > w.errors[out] {
			out = text
		}
	}
	return out
}

func newWorld(t *testing.T, of kind, rnd *rand.Rand) *world {
	t.Chdir(t.TempDir())
	w := &world{kind: of, t: t, rnd: rnd, cli: of.prepare(t), texts: map[string]string{}, given: map[string]bool{},
		errors: map[string]int{}}
	w.core = newCore(t, w.cli)
	for _, name := range w.names() {
		w.set(name, w.text(w, name))
	}
	var err error
	if w.modules, err = w.open(w.core); err != nil {
		t.Log(err) // some root modules can't be read
	}
	return w
}

func newCore(t testing.TB, cli *cliconfig.Config) *Core {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	c := New(session.NewProcess(os.Environ(), cli, os.Stderr), dir)
	t.Cleanup(c.Close)
	return c
}

func (w *world) n(max int) int              { return w.rnd.IntN(max) }
func (w *world) pick(list ...string) string { return list[w.rnd.IntN(len(list))] }

// builtinKind has one root module with two modules, without plugins.
type builtinKind struct{}

func (builtinKind) prepare(t *testing.T) *cliconfig.Config {
	write(t, ".terraform/modules/modules.json", `{"Modules":[{"Key":"","Source":"","Dir":"."},`+
		`{"Key":"m","Source":"./m","Dir":"m"},{"Key":"m.deep","Source":"../deep","Dir":"deep"}]}`)
	return &cliconfig.Config{}
}

func (builtinKind) outside(*world)            {}
func (builtinKind) check(*world, PlanOptions) {}

func (builtinKind) open(c *Core) ([]*Module, error) {
	m, err := c.Open(".", Options{})
	return []*Module{m}, err
}

func (builtinKind) names() []string {
	return []string{"a.tf", "b.tf", "c.tf", "m/main.tf", "deep/main.tf", "terraform.tfvars", "checks.tf"}
}

func (builtinKind) text(w *world, name string) string {
	n, pick := w.n, w.pick
	var b strings.Builder
	switch name {
	case "terraform.tfvars":
		fmt.Fprintf(&b, "size = %d\nname = %q\n", n(4), pick("x", "y", "z"))
	case "checks.tf":
		fmt.Fprintf(&b, "variable \"size\" { default = 1 }\nvariable \"name\" {\n  default   = \"d\"\n  sensitive = %t\n}\n", n(4) == 0)
		if n(2) == 0 {
			fmt.Fprintf(&b, "check \"c\" {\n  assert {\n    condition     = var.size < %d\n    error_message = \"too large\"\n  }\n}\n", n(4))
		}
	case "m/main.tf":
		fmt.Fprintf(&b, "variable \"in\" { default = null }\nresource \"terraform_data\" \"inner\" {\n  for_each = toset([%s])\n  input    = \"${each.key}-%d\"\n}\n",
			pick(`"p", "q"`, `"p"`, `"p", "r", "s"`), n(3))
		fmt.Fprintf(&b, "module \"deep\" {\n  source = \"../deep\"\n  value  = %s\n}\noutput \"out\" { value = module.deep.value }\n",
			pick(`"k"`, "var.in", "terraform_data.inner[\"p\"].output"))
	case "deep/main.tf":
		fmt.Fprintf(&b, "variable \"value\" {}\nlocals { v = %s }\nresource \"terraform_data\" \"deep\" { input = local.v }\noutput \"value\" { value = terraform_data.deep.%s }\n",
			pick("var.value", "\"fixed\"", "[var.value]"), pick("output", "input", "id"))
	default:
		letter := name[:1]
		if letter == "c" {
			fmt.Fprintf(&b, "locals { base = %s }\nmodule \"m\" {\n  source = \"./m\"\n  in     = local.base\n}\noutput \"o\" { value = module.m.out }\n",
				pick("var.name", "\"c\"", "upper(var.name)"))
			if n(3) == 0 {
				b.WriteString("moved {\n  from = terraform_data.gone\n  to   = terraform_data.a0\n}\n")
			}
			return b.String()
		}
		for i := range 2 + n(4) {
			fmt.Fprintf(&b, "resource \"terraform_data\" \"%s%d\" {\n", letter, i)
			repeated := n(3)
			switch repeated {
			case 0:
				fmt.Fprintf(&b, "  count = %s\n", pick("2", "var.size", "0"))
			case 1:
				fmt.Fprintf(&b, "  for_each = { for k in [\"u\", \"v\"] : k => \"${k}${%s}\" }\n", pick("1", "var.size", "local.base"))
			}
			value := pick(`"constant"`, "var.name", "local.base", "timeadd(\"2020-01-01T00:00:00Z\", \"1h\")",
				"terraform_data.a0", "module.m.out", "uuid()", "{ a = [1, var.size] }")
			if n(40) == 0 {
				value = "nonsense.x"
			}
			if letter == "b" || i > 0 && value == "terraform_data.a0" {
				value = pick(value, "terraform_data.a0", `"plain"`)
			}
			fmt.Fprintf(&b, "  input = %s\n", value)
			if n(4) == 0 {
				fmt.Fprintf(&b, "  triggers_replace = %d\n", n(2))
			}
			if n(6) == 0 {
				b.WriteString("  lifecycle { create_before_destroy = true }\n")
			}
			if n(8) == 0 {
				fmt.Fprintf(&b, "  lifecycle {\n    postcondition {\n      condition     = var.size != %d\n      error_message = \"bad\"\n    }\n  }\n", n(4))
			}
			b.WriteString("}\n")
		}
	}
	if n(15) == 0 {
		b.WriteString("} broken {")
	}
	return b.String()
}

// set changes a text, on disk or unsaved.
func (w *world) set(name, text string) {
	w.texts[name] = text
	if w.modules != nil && w.n(3) > 0 {
		w.given[name] = true
		w.core.SetText(name, []byte(text))
		return
	}
	write(w.t, name, text)
	if w.given[name] {
		delete(w.given, name)
		w.core.DropText(name)
	}
}

// edit changes something at random.
func (w *world) edit() {
	name := w.pick(w.names()...)
	switch w.n(12) {
	case 0, 1:
		w.log = append(w.log, "rewrite "+name)
		w.set(name, w.text(w, name))
	case 2:
		if len(w.modules) == 0 {
			return
		}
		w.apply(w.modules[w.n(len(w.modules))])
	case 3:
		w.log = append(w.log, "comment in "+name)
		w.set(name, "# comment\n"+w.texts[name])
	case 4, 5:
		w.outside(w)
	default: // one digit or word
		text := w.texts[name]
		places := regexp.MustCompile(`\b\d\b|constant|fixed|plain`).FindAllStringIndex(text, -1)
		if len(places) == 0 {
			return
		}
		at := places[w.n(len(places))]
		was := text[at[0]:at[1]]
		now := map[bool]string{true: was + "s", false: strconv.Itoa(w.n(4))}[len(was) > 1]
		w.log = append(w.log, fmt.Sprintf("%s: %s to %s", name, was, now))
		w.set(name, text[:at[0]]+now+text[at[1]:])
	}
}

// apply applies the present configuration of a root module, outside of the memory of plans.
func (w *world) apply(m *Module) {
	p, err := m.Propose(w.t.Context(), PlanOptions{Refresh: All})
	if err != nil {
		w.t.Fatal(err)
	}
	if p.Digest == "" {
		return
	}
	proposals := &Proposals{Dir: filepath.Dir(p.Dir)}
	if err := proposals.Approve(&Approval{Digest: p.Digest, Expires: time.Now().Add(time.Hour)}); err != nil {
		w.t.Fatal(err)
	}
	applied, err := m.Apply(w.t.Context(), p.Digest, nil, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	w.log = append(w.log, fmt.Sprintf("apply %s: %t %v", m.Name(), applied.Begun, applied.Diagnostics.Err()))
}

// compare compares the answers of the core with those of a new one.
func (w *world) compare() {
	w.t.Helper()
	cold := newCore(w.t, w.cli)
	defer cold.Close()
	for name := range w.given {
		cold.SetText(name, []byte(w.texts[name]))
	}
	fresh, coldErr := w.open(cold)
	known, warmErr := w.open(w.core)
	names := func(list []*Module) (out []string) {
		for _, m := range list {
			out = append(out, m.Name())
		}
		return out
	}
	if fmt.Sprint(coldErr, names(fresh)) != fmt.Sprint(warmErr, names(known)) {
		w.t.Fatalf("warm: %v %v\ncold: %v %v\nafter %q", names(known), warmErr, names(fresh), coldErr, w.log)
	}
	if len(known) == 0 {
		return
	}
	w.modules = known
	opts := PlanOptions{Refresh: []Refresh{Keep, Keep, Keep, All, None}[w.n(5)]}
	if w.anew {
		opts.Refresh = All
	}
	w.anew = false
	if w.n(8) == 0 {
		opts.Mode = plans.Destroy
	}
	for i, m := range known {
		for what, answer := range map[string]func(*Module) string{
			"plan":        func(m *Module) string { return w.plan(m, opts) },
			"diagnostics": w.diagnose,
		} {
			if got, want := answer(m), answer(fresh[i]); got != want {
				w.t.Fatalf("%s of %s differs after %q with %+v:\n%s\n\nconfiguration: %q", what, m.Name(),
					w.log[max(0, len(w.log)-8):], opts, firstDifference(got, want), w.texts)
			}
		}
	}
	w.check(w, opts)
}

var timestamp = regexp.MustCompile(`"timestamp":"[^"]*"`)

func (w *world) plan(m *Module, opts PlanOptions) string {
	p, err := m.Plan(w.t.Context(), opts)
	if err != nil {
		w.t.Fatal(err)
	}
	var b bytes.Buffer
	if w.asked++; !p.Diagnostics.HasErrors() {
		w.planned++
	} else {
		text, _, _ := strings.Cut(p.Diagnostics.Err().Error(), ";")
		w.errors[text]++
	}
	if p.View != nil {
		if err := p.WriteJSON(&b); err != nil {
			w.t.Fatal(err)
		}
	}
	return timestamp.ReplaceAllString(b.String(), "") + w.describe(p.Answer)
}

func (w *world) diagnose(m *Module) string {
	answer, err := m.Diagnose(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return w.describe(answer)
}

// describe returns diagnostics as JSON. Their order is not fixed.
func (w *world) describe(a Answer) string {
	var list []string
	for _, d := range a.Diagnostics {
		var b bytes.Buffer
		if err := ui.WriteValidation(&b, tfdiags.Diagnostics{d}, a.Source); err != nil {
			w.t.Fatal(err)
		}
		list = append(list, b.String())
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

func firstDifference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	part := func(s string) string { return s[max(0, i-300):min(len(s), i+300)] }
	return "warm: " + part(got) + "\ncold: " + part(want)
}

// TestChangesOnDisk checks that a change is noticed without a report, even if the file keeps its size
// and time.
func TestChangesOnDisk(t *testing.T) {
	c, dir := open(t, map[string]string{"main.tf": `output "a" { value = 1 }`})
	m, err := c.Open(".", Options{})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "main.tf")
	for i := range 5 {
		write(t, name, fmt.Sprintf(`output "a" { value = %d }`, i))
		p, err := m.Plan(t.Context(), PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		v, err := p.Evaluate(t.Context(), "", strconv.Itoa(i)+` == `+strconv.Itoa(i))
		if err != nil || !v.True() {
			t.Error(v, err)
		}
		if o := p.View.Plan.Changes.Output("a"); o == nil || o.After.AsBigFloat().String() != strconv.Itoa(i) {
			t.Errorf("edit %d: %v", i, o)
		}
	}
	before := c.Revision()
	write(t, "terraform.tfvars", "b = 1\n")
	if c.Revision() == before {
		t.Error("a new variable file is not noticed")
	}
	if _, err := m.Plan(t.Context(), PlanOptions{}); err != nil { // reads the files again
		t.Fatal(err)
	}
	before = c.Revision()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if c.Revision() == before {
		t.Error("a removed file is not noticed")
	}
	if p, err := m.Plan(t.Context(), PlanOptions{}); err != nil || p.View == nil || len(p.View.Plan.Changes.Outputs) != 0 {
		t.Error(p.Diagnostics, err)
	}
}
