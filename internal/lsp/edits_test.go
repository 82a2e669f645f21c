package lsp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/lsp/protocol"
	"tofu/internal/session"
	"tofu/internal/warm"
)

// apply returns the text of a file after edits.
func (c *client) apply(text string, list []protocol.TextEdit) string {
	d := newDocument("", []byte(text))
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b protocol.TextEdit) int { return d.offset(b.Range.Start) - d.offset(a.Range.Start) })
	for _, e := range list {
		text = text[:d.offset(e.Range.Start)] + e.NewText + text[d.offset(e.Range.End):]
	}
	return text
}

// places returns locations as FILE:LINE:COLUMN.
func (c *client) places(list []protocol.Location) string {
	var out []string
	for _, l := range list {
		name, _ := filepath.Rel(c.dir, pathOf(l.Uri))
		out = append(out, fmt.Sprintf("%s:%d:%d", name, l.Range.Start.Line+1, l.Range.Start.Character+1))
	}
	return strings.Join(out, " ")
}

func TestReferences(t *testing.T) {
	all := map[string]string{}
	for name, text := range files {
		all[name] = text
	}
	all["app/terraform.tfvars"] = "names = [\"a\"]\n"
	all["app/main.tftest.hcl"] = "run \"x\" {\n  variables {\n    names = [\"c\"]\n  }\n  assert {\n" +
		"    condition     = length(terraform_data.user) == 1 && output.out != var.names\n    error_message = \"no\"\n  }\n}\n"
	c := start(t, all)
	c.planned("app/main.tf")
	for _, test := range []struct{ file, text, at, definition, references string }{
		{"app/main.tf", app, "in var.na|mes", "app/main.tf:1:11",
			"app/main.tf:1:11 app/main.tf:8:26 app/main.tftest.hcl:3:5 app/main.tftest.hcl:6:75 app/terraform.tfvars:1:1"},
		{"app/main.tf", app, "terraform_data.us|er[", "app/main.tf:11:28",
			"app/main.tf:11:28 app/main.tf:18:27 app/main.tftest.hcl:6:43"},
		{"app/main.tf", app, "= local.us|ers", "app/main.tf:8:3", "app/main.tf:8:3 app/main.tf:12:20"},
		{"app/main.tf", app, "module.m.o|ut", "m/main.tf:9:9", "m/main.tf:9:9 app/main.tf:22:20"},
		{"app/main.tf", app, "mod|ule.m.out", "app/main.tf:16:9", "app/main.tf:16:9 app/main.tf:22:18"},
		{"app/main.tf", app, "val|ue  =", "m/main.tf:1:11",
			"m/main.tf:1:11 app/main.tf:18:3 m/main.tf:6:18 m/main.tf:6:30"},
		{"m/main.tf", child, "var.val|ue}\"", "m/main.tf:1:11",
			"m/main.tf:1:11 app/main.tf:18:3 m/main.tf:6:18 m/main.tf:6:30"},
	} {
		var found []protocol.Location
		c.call("textDocument/definition", &protocol.DefinitionParams{TextDocument: c.doc(test.file),
			Position: at(t, test.text, test.at)}, &found)
		if got := c.places(found); got != test.definition {
			t.Errorf("definition of %s: %s", test.at, got)
		}
		c.call("textDocument/references", &protocol.ReferenceParams{TextDocument: c.doc(test.file),
			Position: at(t, test.text, test.at), Context: protocol.ReferenceContext{IncludeDeclaration: true}}, &found)
		if got := c.places(found); got != test.references {
			t.Errorf("references to %s: %s", test.at, got)
		}
	}
	var none []protocol.Location
	c.call("textDocument/definition", &protocol.DefinitionParams{TextDocument: c.doc("app/main.tf"),
		Position: at(t, app, "for |n in")}, &none)
	if none != nil {
		t.Error(none)
	}
}

func TestRename(t *testing.T) {
	c := start(t, files)
	c.planned("app/main.tf")
	rename := func(file, text, marked, name string) (map[string]string, error) {
		var edit protocol.WorkspaceEdit
		err := c.try("textDocument/rename", &protocol.RenameParams{TextDocument: c.doc(file),
			Position: at(t, text, marked), NewName: name}, &edit)
		out := map[string]string{}
		for uri, list := range edit.Changes {
			path := pathOf(uri)
			before, _ := os.ReadFile(path)
			rel, _ := filepath.Rel(c.dir, path)
			out[rel] = c.apply(string(before), list)
		}
		return out, err
	}
	got, err := rename("app/main.tf", app, "\"us|er\"", "person")
	want := strings.ReplaceAll(strings.ReplaceAll(app, "data.user", "data.person"), "\"user\" {", "\"person\" {")
	want = strings.Replace(want, "each.value.name\n}\n", "each.value.name\n}\n\n"+
		"moved {\n  from = terraform_data.user\n  to   = terraform_data.person\n}\n", 1)
	if err != nil || len(got) != 1 || got["app/main.tf"] != want {
		t.Error(err, got)
	}
	got, err = rename("app/main.tf", app, "module.|m.", "double")
	if err != nil || !strings.Contains(got["app/main.tf"], "module.double.out") ||
		!strings.Contains(got["app/main.tf"], "moved {\n  from = module.m\n  to   = module.double\n}\n") {
		t.Error(err, got)
	}
	got, err = rename("m/main.tf", child, "var.val|ue}$", "input")
	if err != nil || !strings.Contains(got["app/main.tf"], "  input  = terr") ||
		got["m/main.tf"] != strings.Replace(strings.ReplaceAll(child, "var.value", "var.input"), `"value"`, `"input"`, 1) {
		t.Error(err, got)
	}
	got, err = rename("m/main.tf", child, "\"o|ut\"", "result")
	if err != nil || !strings.Contains(got["app/main.tf"], "module.m.result") || !strings.Contains(got["m/main.tf"], "\"result\"") {
		t.Error(err, got)
	}
	for _, bad := range []struct{ at, name, want string }{
		{"var.na|mes", "a b", "not a valid name"},
		{"upp|er", "lower", "there is no name"},
		{"= local.us|ers", "users", ""}, // the same name
	} {
		if got, err := rename("app/main.tf", app, bad.at, bad.name); (err == nil) != (bad.want == "") ||
			err != nil && !strings.Contains(err.Error(), bad.want) || len(got) > 0 {
			t.Error(bad, err, got)
		}
	}
	c.edit("app/main.tf", app+"\nlocals {\n  other = 1\n}\n")
	if _, err := rename("app/main.tf", app, "= local.us|ers", "other"); err == nil ||
		!strings.Contains(err.Error(), "local.other exists already") {
		t.Error(err)
	}
}

func TestOtherRootModules(t *testing.T) {
	web := "data \"terraform_remote_state\" \"net\" {\n  backend = \"local\"\n  config = {\n    path = \"../net/terraform.tfstate\"\n  }\n}\n" +
		"resource \"terraform_data\" \"x\" {\n  input = data.terraform_remote_state.net.outputs.vpc\n}\n"
	net := "output \"vpc\" {\n  value = \"v\"\n}\n"
	c := start(t, map[string]string{"web/main.tf": web, "net/main.tf": net, "net/terraform.tfstate": `{"version":4,"terraform_version":"1.13.0",` +
		`"serial":1,"lineage":"x","outputs":{"vpc":{"value":"v","type":"string"}},"resources":[]}`})
	c.planned("web/main.tf")
	var found []protocol.Location
	c.call("textDocument/definition", &protocol.DefinitionParams{TextDocument: c.doc("web/main.tf"),
		Position: at(t, web, "outputs.v|pc")}, &found)
	if got := c.places(found); got != "net/main.tf:1:9" {
		t.Error(got)
	}
	c.call("textDocument/references", &protocol.ReferenceParams{TextDocument: c.doc("net/main.tf"),
		Position: at(t, net, "\"v|pc\"")}, &found)
	if got := c.places(found); got != "web/main.tf:8:51" {
		t.Error(got)
	}

	// Values are those of the plan of the estate: what is edited elsewhere counts, before it is applied.
	sees := func(want string) {
		t.Helper()
		for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(20 * time.Millisecond) {
			if strings.Contains(c.hover("web/main.tf", web, "outputs.v|pc"), want) {
				return
			}
		}
		t.Errorf("%s is not shown", want)
	}
	sees(`"v"`)
	c.edit("net/main.tf", strings.Replace(net, `"v"`, `"planned"`, 1))
	sees(`"planned"`)
	c.edit("net/main.tf", strings.Replace(net, "\n}", "\n  sensitive = true\n}", 1))
	sees("(sensitive value)")
	c.edit("net/main.tf", "locals { a = missing.x }\n"+net) // can't be planned
	sees(`"v"`)
}

func TestDiagnosticsAndActions(t *testing.T) {
	c := start(t, files)
	c.planned("app/main.tf")
	broken := strings.Replace(app, "local.users\n", "local.user\n", 1)
	c.edit("app/main.tf", broken)
	c.await("error", func(d map[string][]protocol.Diagnostic) bool { return len(d["app/main.tf"]) > 0 })
	c.mu.Lock()
	d := c.diags["app/main.tf"][0]
	c.mu.Unlock()
	if d.Severity != protocol.DiagnosticSeverityError || d.Range.Start != at(t, broken, "= |local.user\n") {
		t.Errorf("%+v", d)
	}
	var actions []protocol.CodeAction
	c.call("textDocument/codeAction", &protocol.CodeActionParams{TextDocument: c.doc("app/main.tf"), Range: d.Range,
		Context: protocol.CodeActionContext{Diagnostics: []protocol.Diagnostic{d}}}, &actions)
	if len(actions) != 1 || c.apply(broken, actions[0].Edit.Changes[c.uri("app/main.tf")]) != app {
		t.Errorf("%+v %+v", d, actions)
	}
	c.edit("app/main.tf", app)
	c.await("clean files", func(d map[string][]protocol.Diagnostic) bool { return len(d["app/main.tf"]) == 0 })

	missing := strings.Replace(app, "  value  = terraform_data.user[\"a\"].input\n", "", 1)
	c.edit("app/main.tf", missing)
	c.await("missing argument", func(d map[string][]protocol.Diagnostic) bool { return len(d["app/main.tf"]) > 0 })
	c.mu.Lock()
	d = c.diags["app/main.tf"][0]
	c.mu.Unlock()
	c.call("textDocument/codeAction", &protocol.CodeActionParams{TextDocument: c.doc("app/main.tf"), Range: d.Range,
		Context: protocol.CodeActionContext{Diagnostics: []protocol.Diagnostic{d}}}, &actions)
	if len(actions) != 1 || !strings.Contains(c.apply(missing, actions[0].Edit.Changes[c.uri("app/main.tf")]),
		"module \"m\" {\n  value = null\n  source") {
		t.Errorf("%+v %+v", d, actions)
	}

	c.edit("app/main.tf", "resource {{{ \n"+app)
	c.await("syntax error", func(d map[string][]protocol.Diagnostic) bool {
		return len(d["app/main.tf"]) > 0 && strings.Contains(d["app/main.tf"][0].Message, "block")
	})
}

func TestPlan(t *testing.T) {
	state := `{"version":4,"terraform_version":"1.13.0","serial":1,"lineage":"x","outputs":{},"resources":[
{"mode":"managed","type":"terraform_data","name":"old","provider":"provider[\"terraform.io/builtin/terraform\"]",
 "instances":[{"schema_version":0,"attributes":{"id":"1","input":{"value":"x","type":"string"},"output":{"value":"x","type":"string"},"triggers_replace":null}}]},
{"mode":"managed","type":"terraform_data","name":"b","provider":"provider[\"terraform.io/builtin/terraform\"]",
 "instances":[{"schema_version":0,"attributes":{"id":"2","input":null,"output":null,"triggers_replace":{"value":"x","type":"string"}}}]},
{"mode":"managed","type":"terraform_data","name":"c","provider":"provider[\"terraform.io/builtin/terraform\"]",
 "instances":[{"schema_version":0,"attributes":{"id":"3","input":{"value":"secret","type":"string"},"output":{"value":"secret","type":"string"},"triggers_replace":null}}]}]}`
	text := `resource "terraform_data" "new" {
  input = "x"
}

resource "terraform_data" "b" {
  triggers_replace = upper("y")
}

variable "key" {
  default   = "secret"
  sensitive = true
}

resource "terraform_data" "c" {
  input = "${var.key}2"
}

resource "terraform_data" "later" {
  for_each = toset([terraform_data.new.id])
}

locals {
  size = length("${var.key}") + 1
  name = "x${terraform_data.b.triggers_replace}"
}
`
	c := start(t, map[string]string{"main.tf": text, "terraform.tfstate": state})
	lenses := c.planned("main.tf")
	var titles []string
	for _, l := range lenses {
		titles = append(titles, fmt.Sprintf("%d %s", l.Range.Start.Line+1, l.Command.Title))
	}
	if got := strings.Join(titles, "; "); got !=
		"1 Plan: 1 to add, 1 to change, 1 to replace, 1 to destroy, 1 to plan later; 1 1 to add; 5 1 to replace; 14 1 to change" {
		t.Error(got)
	}
	c.await("diagnostics of the plan", func(d map[string][]protocol.Diagnostic) bool { return len(d["main.tf"]) >= 2 })
	c.mu.Lock()
	var found []string
	for _, d := range c.diags["main.tf"] {
		found = append(found, fmt.Sprintf("%d:%d %s", d.Severity, d.Range.Start.Line+1, strings.ReplaceAll(d.Message, "\n", " ")))
	}
	c.mu.Unlock()
	all := strings.Join(found, "\n")
	for _, want := range []string{"2:5 Objects are replaced  The plan replaces terraform_data.b",
		"because of triggers_replace", "3:18 Deferred  terraform_data.later"} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in %s", want, all)
		}
	}

	var text2 string
	c.call("workspace/executeCommand", &protocol.ExecuteCommandParams{Command: showDifference,
		Arguments: lenses[2].Command.Arguments}, &text2)
	if !strings.Contains(text2, "triggers_replace = \"x\" -> \"Y\" # forces replacement") {
		t.Error(text2)
	}
	c.await("shown text", func(map[string][]protocol.Diagnostic) bool { return len(c.shown) > 0 })

	var actions []protocol.CodeAction
	c.call("textDocument/codeAction", &protocol.CodeActionParams{TextDocument: c.doc("main.tf"),
		Range: protocol.Range{Start: protocol.Position{Line: 0}, End: protocol.Position{Line: 0}}}, &actions)
	if len(actions) != 1 || !strings.Contains(c.apply(text, actions[0].Edit.Changes[c.uri("main.tf")]),
		"\n}\n\nmoved {\n  from = terraform_data.old\n  to   = terraform_data.new\n}\n\nresource") {
		t.Errorf("%+v", actions)
	}

	var hints []protocol.InlayHint
	c.call("textDocument/inlayHint", &protocol.InlayHintParams{TextDocument: c.doc("main.tf"),
		Range: protocol.Range{End: protocol.Position{Line: 100}}}, &hints)
	got := ""
	for _, h := range hints {
		got += fmt.Sprintf("%d %s; ", h.Position.Line+1, h.Label)
	}
	if got != `24 = "xY"; ` {
		t.Error(got)
	}
	for _, marked := range []string{"inp|ut = \"${", "var.k|ey}2", "\"terraform_data\" \"|c\"", "si|ze"} {
		var hover protocol.Hover
		c.call("textDocument/hover", &protocol.HoverParams{TextDocument: c.doc("main.tf"), Position: at(t, text, marked)}, &hover)
		if hover.Contents.Value == "" || strings.Contains(hover.Contents.Value, "secret\"") || strings.Contains(hover.Contents.Value, "secret2") {
			t.Error(marked, hover.Contents.Value)
		}
	}
}

func TestFormatting(t *testing.T) {
	text := "locals {\n  a = 1\n  long = 2\n}\n\n\nlocals   {\n  b=1\n}\n"
	c := start(t, map[string]string{"main.tf": text})
	var list []protocol.TextEdit
	c.call("textDocument/formatting", &protocol.DocumentFormattingParams{TextDocument: c.doc("main.tf")}, &list)
	if got := c.apply(text, list); got != "locals {\n  a    = 1\n  long = 2\n}\n\n\nlocals {\n  b = 1\n}\n" || len(list) != 2 {
		t.Error(got, list)
	}
	c.edit("main.tf", "locals {\n")
	if err := c.try("textDocument/formatting", &protocol.DocumentFormattingParams{TextDocument: c.doc("main.tf")}, &list); err == nil {
		t.Error("an incomplete file was formatted")
	}
}

func TestOutlineAndTokens(t *testing.T) {
	c := start(t, files)
	var symbols []protocol.DocumentSymbol
	c.call("textDocument/documentSymbol", &protocol.DocumentSymbolParams{TextDocument: c.doc("app/main.tf")}, &symbols)
	var names []string
	for _, s := range symbols {
		names = append(names, s.Name)
		for _, child := range s.Children {
			names = append(names, child.Name)
		}
	}
	if got := strings.Join(names, " "); got != "var.names locals local.users terraform_data.user module.m output.out" {
		t.Error(got)
	}
	var tokens protocol.SemanticTokens
	c.call("textDocument/semanticTokens/full", &protocol.SemanticTokensParams{TextDocument: c.doc("m/main.tf")}, &tokens)
	lines := strings.Split(child, "\n")
	var got []string
	line, column := 0, 0
	for i := 0; i < len(tokens.Data); i += 5 {
		d := tokens.Data[i : i+5]
		if d[0] > 0 {
			column = 0
		}
		line, column = line+int(d[0]), column+int(d[1])
		got = append(got, lines[line][column:column+int(d[2])]+":"+tokenTypes[d[3]])
	}
	want := `variable:keyword "value":variable description:property locals:keyword twice:property var:keyword value:variable ` +
		`var:keyword value:variable output:keyword "out":variable value:property local:keyword twice:variable`
	if strings.Join(got, " ") != want {
		t.Error(strings.Join(got, " "))
	}
}

func TestMalformed(t *testing.T) {
	var in strings.Builder
	for _, message := range []string{"{", "[]", "5", `{"jsonrpc":"2.0","id":{}}`, `{"jsonrpc":"1.0","id":1,"method":"x"}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"textDocument/hover"}`,
		`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"capabilities":{}}}`,
		`{"jsonrpc":"2.0","id":3,"method":"shutdown"}`} {
		fmt.Fprintf(&in, "X-Other: 1\r\nContent-Length: %d\r\n\r\n%s", len(message), message)
	}
	t.Chdir(t.TempDir())
	core := warm.New(session.NewProcess(os.Environ(), &cliconfig.Config{}, os.Stderr), ".")
	defer core.Close()
	var out strings.Builder
	if err := Serve(t.Context(), core, ".", warm.Options{}, strings.NewReader(in.String()), &out); err != nil {
		t.Error(err)
	}
	for text, times := range map[string]int{`"code":-32700`: 1, `"code":-32600`: 4, `"code":-32602`: 1, `"result":null`: 1,
		`"serverInfo"`: 1} {
		if n := strings.Count(out.String(), text); n != times {
			t.Errorf("%d answers with %s in %s", n, text, out.String())
		}
	}
}

func TestBadInput(t *testing.T) {
	c := start(t, files)
	c.planned("app/main.tf")
	doc := c.doc("app/main.tf")
	for _, bad := range []struct {
		method string
		params any
		want   string
	}{
		{"no/such", nil, "no method"},
		{"textDocument/hover", []int{1}, "parameters"},
		{"textDocument/hover", map[string]any{"textDocument": 1}, "parameters"},
		{"textDocument/hover", &protocol.HoverParams{TextDocument: protocol.TextDocumentIdentifier{Uri: "https://x/y"}}, "only files"},
		{"textDocument/hover", &protocol.HoverParams{TextDocument: c.doc("none.tf")}, "can't be read"},
		{"textDocument/formatting", nil, "parameters"},
		{"workspace/executeCommand", &protocol.ExecuteCommandParams{Command: "rm"}, "only command"},
	} {
		if err := c.try(bad.method, bad.params, nil); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Error(bad, err)
		}
	}
	var hover json.RawMessage
	for _, p := range []protocol.Position{{Line: 1 << 31, Character: 1 << 31}, {Line: 3, Character: 4000000000}} {
		c.call("textDocument/hover", &protocol.HoverParams{TextDocument: doc, Position: p}, &hover)
	}
	// A directory disappears, and comes back.
	if err := os.RemoveAll(filepath.Join(c.dir, "m")); err != nil {
		t.Fatal(err)
	}
	c.notify("textDocument/didClose", &protocol.DidCloseTextDocumentParams{TextDocument: c.doc("m/main.tf")})
	c.await("missing module", func(d map[string][]protocol.Diagnostic) bool { return len(d["app/main.tf"]) > 0 })
	c.call("textDocument/hover", &protocol.HoverParams{TextDocument: doc}, &hover)
	if err := os.MkdirAll(filepath.Join(c.dir, "m"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.dir, "m/main.tf"), []byte(child), 0o600); err != nil {
		t.Fatal(err)
	}
	c.notify("workspace/didChangeWatchedFiles", &protocol.DidChangeWatchedFilesParams{Changes: []protocol.FileEvent{
		{Uri: c.uri("m/main.tf"), Type: protocol.FileChangeTypeCreated}}})
	c.await("no errors", func(d map[string][]protocol.Diagnostic) bool { return len(d["app/main.tf"]) == 0 })
	// A large file.
	c.edit("app/main.tf", app+strings.Repeat("# a long comment that fills the file\n", 50_000))
	c.call("textDocument/hover", &protocol.HoverParams{TextDocument: doc}, &hover)
}

// TestSecrets sends every request at every place of a file with secrets, which are not in it, and checks that
// no answer and no diagnostic has one.
func TestSecrets(t *testing.T) {
	t.Setenv("TF_VAR_key", "canary-of-a-variable")
	t.Setenv("TF_VAR_once", "canary-of-a-run")
	t.Setenv("TF_HTTP_RETRY_MAX", "0")
	const text = `variable "key" {
  sensitive = true
}
variable "once" {
  ephemeral = true
}
locals {
  both  = { secret = "x${var.key}", plain = "shown" }
  each  = { for k in ["a", "b"] : k => { name = "${var.key}-${k}", plain = k } }
  often = upper(var.once)
}
resource "terraform_data" "a" {
  for_each         = nonsensitive(toset(keys(local.each)))
  input            = local.each[each.key].name
  triggers_replace = [var.key]
}
resource "terraform_data" "old" {
  input = local.both
}
module "m" {
  source = "./m"
  value  = local.both.secret
}
output "key" {
  value     = module.m.value
  sensitive = true
}
output "leak" {
  value = terraform_data.old.output
}
resource "terraform_data" "same" {
  input = var.key
}
output "same" {
  value     = terraform_data.same.output
  sensitive = true
}
`
	c := start(t, map[string]string{"main.tf": text,
		"m/main.tf":                       "variable \"value\" {}\noutput \"value\" { value = \"${var.value}!\" }\n",
		".terraform/modules/modules.json": `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"./m","Dir":"m"}]}`,
		"terraform.tfstate": `{"version":4,"terraform_version":"1.13.0","serial":1,"lineage":"x","outputs":{"key":{"value":"canary-of-an-output",` +
			`"type":"string","sensitive":true}},"resources":[{"mode":"managed","type":"terraform_data","name":"old","provider":"provider[\"terraform.io/builtin/terraform\"]",` +
			`"instances":[{"schema_version":0,"attributes":{"id":"1","input":{"value":"canary-of-an-object","type":"string"},"output":{"value":"canary-of-an-object","type":"string"},` +
			`"triggers_replace":null},"sensitive_attributes":[[{"type":"get_attr","value":"input"}]]}]},` +
			`{"mode":"managed","type":"terraform_data","name":"same","provider":"provider[\"terraform.io/builtin/terraform\"]",` +
			`"instances":[{"schema_version":0,"attributes":{"id":"2","input":{"value":"canary-of-a-variable","type":"string"},"output":{"value":"canary-of-a-variable","type":"string"},` +
			`"triggers_replace":null},"sensitive_attributes":[[{"type":"get_attr","value":"input"}]]}]}]}`})
	c.planned("main.tf")
	answers := 0
	ask := func(method string, params any) {
		var answer json.RawMessage
		if err := c.try(method, params, &answer); err != nil {
			answer = json.RawMessage(err.Error())
		}
		if len(answer) > 4 {
			answers++
		}
		if strings.Contains(strings.ToLower(string(answer)), "canary") {
			t.Fatalf("%s %v: %s", method, params, answer)
		}
	}
	for method := range requests {
		for _, file := range []string{"main.tf", "m/main.tf"} {
			content := text
			if file != "main.tf" {
				content = "variable \"value\" {}\noutput \"value\" { value = \"${var.value}!\" }\n"
			}
			d := newDocument("", []byte(content))
			for offset := 0; offset < len(content); offset += 2 {
				ask(method, map[string]any{"textDocument": c.doc(file), "position": d.position(offset), "newName": "other",
					"range": d.span(offset, len(content)), "context": map[string]any{"includeDeclaration": true, "diagnostics": []any{}}})
				if method == "textDocument/formatting" || strings.HasSuffix(method, "/full") || strings.HasSuffix(method, "Symbol") {
					break // they have no place
				}
			}
		}
	}
	ask("workspace/executeCommand", &protocol.ExecuteCommandParams{Command: showDifference, Arguments: []any{c.uri("."), ""}})
	for _, path := range []string{"each.value.", "local.both.", "terraform_data.old.", "terraform_data.same.", "terraform_data.a[\"a\"]."} {
		edited := text + "output \"more\" {\n  value = " + path
		c.edit("main.tf", edited+"\n}\n")
		ask("textDocument/completion", map[string]any{"textDocument": c.doc("main.tf"),
			"position": newDocument("", []byte(edited)).position(len(edited))})
	}
	c.edit("main.tf", text+"output \"number\" {\n  value     = parseint(var.key, 10)\n  sensitive = true\n}\n")
	c.await("error of a function", func(d map[string][]protocol.Diagnostic) bool {
		return strings.Contains(fmt.Sprint(d["main.tf"]), "parseint") || strings.Contains(fmt.Sprint(d["main.tf"]), "function")
	})
	c.edit("main.tf", text+`data "terraform_remote_state" "x" {
  backend = "http"
  config  = { address = "http://127.0.0.1:1/${var.key}" }
}
`)
	c.await("error of a provider", func(d map[string][]protocol.Diagnostic) bool {
		return strings.Contains(fmt.Sprint(d["main.tf"]), "127.0.0.1:1")
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if all := strings.ToLower(fmt.Sprint(c.diags, c.shown)); strings.Contains(all, "canary") || answers < 300 {
		t.Errorf("%d answers, %s", answers, all)
	}
}
