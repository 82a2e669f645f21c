package lsp

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/exp/jsonrpc2"

	"tofu/internal/cliconfig"
	"tofu/internal/lsp/protocol"
	"tofu/internal/session"
	"tofu/internal/warm"
	"tofu/internal/warm/frames"
)

// client is an editor.
type client struct {
	t    *testing.T
	dir  string
	conn *jsonrpc2.Connection

	mu     sync.Mutex
	change *sync.Cond
	diags  map[string][]protocol.Diagnostic // by file name relative to dir
	rounds int                              // notifications with diagnostics
	shown  []string                         // texts that the server has shown
}

// start starts a server with files, and an editor that has opened all of them.
func start(t *testing.T, files map[string]string) *client {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	core := warm.New(session.NewProcess(os.Environ(), &cliconfig.Config{}, os.Stderr), dir)
	c := connect(t, core, dir)
	for name, text := range files {
		if strings.HasSuffix(name, ".tf") {
			c.notify("textDocument/didOpen", &protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{
				Uri: c.uri(name), Version: 1, Text: text}})
		}
	}
	return c
}

// connect starts a server for one editor.
func connect(t *testing.T, core *warm.Core, dir string) *client {
	t.Helper()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- Serve(context.Background(), core, dir, warm.Options{}, toServer, fromServer)
		fromServer.Close()
	}()
	c := &client{t: t, dir: dir, diags: map[string][]protocol.Diagnostic{}}
	c.change = sync.NewCond(&c.mu)
	if _, err := frames.New(frames.Headers, toClient, fromClient).Dial(t.Context(), fromClient, c, "",
		func(conn *jsonrpc2.Connection) { c.conn = conn }); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		fromClient.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
		core.Close()
	})
	var result protocol.InitializeResult
	root := uriOf(dir)
	c.call("initialize", &protocol.InitializeParams{RootUri: &root, Capabilities: protocol.ClientCapabilities{
		Window: &protocol.WindowClientCapabilities{ShowDocument: &protocol.ShowDocumentClientCapabilities{Support: true}},
		TextDocument: &protocol.TextDocumentClientCapabilities{Completion: &protocol.CompletionClientCapabilities{
			CompletionItem: &protocol.ClientCompletionItemOptions{SnippetSupport: true}}},
	}}, &result)
	if result.ServerInfo.Name != "tofu" {
		t.Fatalf("%+v", result)
	}
	c.notify("initialized", struct{}{})
	return c
}

func (c *client) Handle(_ context.Context, req *jsonrpc2.Request) (any, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch req.Method {
	case "textDocument/publishDiagnostics":
		var p protocol.PublishDiagnosticsParams
		if err := json.Unmarshal(req.Params, &p); err != nil {
			return nil, err
		}
		name, _ := filepath.Rel(c.dir, pathOf(p.Uri))
		c.diags[name] = p.Diagnostics
		c.rounds++
		c.change.Broadcast()
	case "window/showDocument":
		var p protocol.ShowDocumentParams
		if err := json.Unmarshal(req.Params, &p); err != nil {
			return nil, err
		}
		text, _ := os.ReadFile(pathOf(p.Uri))
		c.shown = append(c.shown, string(text))
		c.change.Broadcast()
		return struct{}{}, nil
	}
	return nil, nil
}

func (c *client) uri(name string) string { return uriOf(filepath.Join(c.dir, name)) }

func (c *client) notify(method string, params any) {
	c.t.Helper()
	if err := c.conn.Notify(c.t.Context(), method, params); err != nil {
		c.t.Fatal(err)
	}
}

func (c *client) call(method string, params, result any) {
	c.t.Helper()
	if err := c.try(method, params, result); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
}

func (c *client) try(method string, params, result any) error {
	ctx, cancel := context.WithTimeout(c.t.Context(), 2*time.Minute)
	defer cancel()
	return c.conn.Call(ctx, method, params).Await(ctx, result)
}

// await waits until the diagnostics satisfy a condition.
func (c *client) await(what string, ok func(map[string][]protocol.Diagnostic) bool) {
	c.t.Helper()
	timer := time.AfterFunc(60*time.Second, func() { c.change.Broadcast() })
	defer timer.Stop()
	began := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	for !ok(c.diags) {
		if time.Since(began) > 59*time.Second {
			c.t.Fatalf("no %s in time: %+v", what, c.diags)
		}
		c.change.Wait()
	}
}

// planned waits for the lenses of a file, which come with a plan.
func (c *client) planned(name string) []protocol.CodeLens {
	c.t.Helper()
	for began := time.Now(); time.Since(began) < 60*time.Second; time.Sleep(20 * time.Millisecond) {
		var lenses []protocol.CodeLens
		c.call("textDocument/codeLens", &protocol.CodeLensParams{TextDocument: c.doc(name)}, &lenses)
		if len(lenses) > 0 && !strings.Contains(lenses[0].Command.Title, "before the last edit") {
			return lenses
		}
	}
	c.t.Fatal("no plan in time")
	return nil
}

func (c *client) doc(name string) protocol.TextDocumentIdentifier {
	return protocol.TextDocumentIdentifier{Uri: c.uri(name)}
}

// edit replaces the text of a file.
func (c *client) edit(name, text string) {
	c.t.Helper()
	p := &protocol.DidChangeTextDocumentParams{TextDocument: protocol.VersionedTextDocumentIdentifier{Uri: c.uri(name)}}
	p.ContentChanges = append(p.ContentChanges, struct {
		Range *protocol.Range `json:"range"`
		Text  string          `json:"text"`
	}{nil, text})
	c.notify("textDocument/didChange", p)
}

// at returns the position in a text of the place that is marked with a bar in a part of the text.
func at(t *testing.T, text, marked string) protocol.Position {
	t.Helper()
	before, after, _ := strings.Cut(marked, "|")
	i := strings.Index(text, before+after)
	if i < 0 {
		t.Fatalf("no %q", marked)
	}
	return newDocument("", []byte(text)).position(i + len(before))
}

const app = `variable "names" {
  type        = set(string)
  default     = ["a", "b"]
  description = "The names."
}

locals {
  users = { for n in var.names : n => { name = upper(n), id = length(n) } }
}

resource "terraform_data" "user" {
  for_each = local.users
  input    = each.value.name
}

module "m" {
  source = "../m"
  value  = terraform_data.user["a"].input
}

output "out" {
  value = module.m.out
}
`

const child = `variable "value" {
  description = "What is doubled."
}

locals {
  twice = "${var.value}${var.value}"
}

output "out" {
  value = local.twice
}
`

var files = map[string]string{"app/main.tf": app, "m/main.tf": child,
	"app/.terraform/modules/modules.json": `{"Modules":[{"Key":"","Source":"","Dir":"."},{"Key":"m","Source":"../m","Dir":"../m"}]}`}

// hover returns what is shown at a place in a file, which is marked with a bar in a part of its text.
func (c *client) hover(file, text, marked string) string {
	c.t.Helper()
	var hover protocol.Hover
	c.call("textDocument/hover", &protocol.HoverParams{TextDocument: c.doc(file), Position: at(c.t, text, marked)}, &hover)
	return hover.Contents.Value
}

func TestHover(t *testing.T) {
	c := start(t, files)
	c.planned("app/main.tf")
	for _, test := range []struct {
		file, text, at string
		want           []string
	}{
		{"app/main.tf", app, "each.value.na|me", []string{"# [\"a\"]\n\"A\"", "# [\"b\"]\n\"B\""}},
		{"app/main.tf", app, "local.us|ers\n", []string{"\"name\" = \"A\""}},
		{"app/main.tf", app, "upp|er(n)", []string{"upper("}},
		{"app/main.tf", app, "inp|ut    =", []string{"`input` dynamic", "\"A\"", "\"B\""}},
		{"app/main.tf", app, "var.na|mes", []string{"The names.", "set of string"}},
		{"app/main.tf", app, "module.m.o|ut", []string{"\"AA\""}},
		{"app/main.tf", app, "\"terraform_|data\" \"user\"", []string{"+ terraform_data.user"}},
		{"app/main.tf", app, "va|lue  = terr", []string{"What is doubled.", "\"A\""}},
		{"m/main.tf", child, "local.tw|ice", []string{"\"AA\""}},
		{"m/main.tf", child, "var.va|lue}${", []string{"What is doubled.", "\"A\""}},
	} {
		got := c.hover(test.file, test.text, test.at)
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %s", test.at, want, got)
			}
		}
	}
}

func TestCompletion(t *testing.T) {
	c := start(t, files)
	c.planned("app/main.tf")
	for _, test := range []struct {
		add  string // to the end of the file; the cursor is at its bar
		want []string
		not  []string
	}{
		{"res|", []string{"resource"}, []string{"data"}},
		{"resource \"terraform_|", []string{"terraform_data"}, nil},
		{"data \"|", []string{"terraform_remote_state"}, nil},
		{"resource \"terraform_data\" \"x\" {\n  |", []string{"input", "triggers_replace", "lifecycle", "count"}, []string{"output"}},
		{"resource \"terraform_data\" \"x\" {\n  lifecycle {\n    |\n  }\n}\n", []string{"create_before_destroy"}, []string{"input"}},
		{"resource \"terraform_data\" \"x\" {\n  input = |\n}\n", []string{"var", "upper", "terraform_data"}, nil},
		{"resource \"terraform_data\" \"x\" {\n  input = up|\n}\n", []string{"upper"}, []string{"lower"}},
		{"output \"x\" {\n  value = var.|\n}\n", []string{"names"}, nil},
		{"output \"x\" {\n  value = \"a ${var.n|} b\"\n}\n", []string{"names"}, nil},
		{"output \"x\" {\n  value = local.users.|\n}\n", []string{"a", "b"}, nil},
		{"output \"x\" {\n  value = local.users[\"|\"]\n}\n", []string{"a", "b"}, nil},
		{"output \"x\" {\n  value = local.users[\"a\"].|\n}\n", []string{"id", "name"}, nil},
		{"output \"x\" {\n  value = terraform_data.|\n}\n", []string{"user"}, nil},
		{"output \"x\" {\n  value = terraform_data.user[\"a\"].|\n}\n", []string{"id", "input", "output"}, nil},
		{"output \"x\" {\n  value = module.|\n}\n", []string{"m"}, nil},
		{"output \"x\" {\n  value = module.m.|\n}\n", []string{"out"}, nil},
		{"module \"m2\" {\n  source = \"../m\"\n  |\n}\n", []string{"source", "providers"}, nil},
	} {
		before, after, _ := strings.Cut(test.add, "|")
		text := app + before + after
		c.edit("app/main.tf", text)
		var list protocol.CompletionList
		c.call("textDocument/completion", &protocol.CompletionParams{TextDocument: c.doc("app/main.tf"),
			Position: newDocument("", []byte(text)).position(len(app) + len(before))}, &list)
		labels := map[string]bool{}
		for _, item := range list.Items {
			labels[item.Label] = true
		}
		for _, want := range test.want {
			if !labels[want] {
				t.Errorf("%q: no %s in %v", test.add, want, labels)
			}
		}
		for _, not := range test.not {
			if labels[not] {
				t.Errorf("%q: %s", test.add, not)
			}
		}
	}
	c.edit("app/main.tf", strings.Replace(app, "each.value.name", "each.value.", 1))
	var list protocol.CompletionList
	c.call("textDocument/completion", &protocol.CompletionParams{TextDocument: c.doc("app/main.tf"),
		Position: at(t, app, "each.value.|name")}, &list)
	if len(list.Items) != 2 || list.Items[0].Label != "id" || list.Items[1].Detail != `"A", …` {
		t.Errorf("%+v", list.Items)
	}

	// Instances need not have the same attributes.
	text := "resource \"terraform_data\" \"mixed\" {\n  for_each = { a = { x = 1 }, b = { x = 2, y = \"s\" }, c = { x = 3 } }\n" +
		"  input    = try(each.value.y, each.value.x)\n}\n"
	c.edit("app/main.tf", text)
	for c.planned("app/main.tf"); len(list.Items) != 2 || list.Items[0].Label != "x"; {
		c.call("textDocument/completion", &protocol.CompletionParams{TextDocument: c.doc("app/main.tf"),
			Position: at(t, text, "each.value.|y")}, &list)
	}
	if list.Items[0].Detail != "1, …" || list.Items[1].Label != "y" || list.Items[1].Detail != `"s"` {
		t.Errorf("%+v", list.Items)
	}
	for at, want := range map[string]string{"each.value.|x": "# [\"a\"]\n1\n# [\"b\"]\n2\n# [\"c\"]\n3\n", "each.value.|y": "# [\"b\"]\n\"s\"\n"} {
		if got := c.hover("app/main.tf", text, at); !strings.Contains(got, want) {
			t.Errorf("%s: %s", at, got)
		}
	}
}
