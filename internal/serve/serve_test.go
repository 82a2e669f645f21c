package serve

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/session"
	"tofu/internal/warm"
)

// start returns a server in a new directory with the given files.
func start(t *testing.T, cli *cliconfig.Config, files map[string]string) *Server {
	t.Helper()
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	core := warm.New(session.NewProcess(os.Environ(), cli, os.Stderr), dir)
	t.Cleanup(core.Close)
	return New(core, dir, warm.Options{})
}

// peer is a client.
type peer struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Scanner
	id   int
	done chan error
	end  context.CancelFunc
}

func connect(t *testing.T, s *Server) *peer {
	t.Helper()
	here, there := net.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	p := &peer{t: t, conn: here, in: bufio.NewScanner(here), done: make(chan error, 1), end: cancel}
	p.in.Buffer(nil, 1<<26)
	go func() { p.done <- s.Serve(ctx, there, false) }()
	t.Cleanup(func() { cancel(); _ = here.Close() })
	return p
}

func (p *peer) send(line string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.conn, line); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) next() map[string]any {
	p.t.Helper()
	_ = p.conn.SetReadDeadline(time.Now().Add(time.Minute))
	if !p.in.Scan() {
		p.t.Fatal("the connection has ended: ", p.in.Err())
	}
	var out map[string]any
	if err := json.Unmarshal(p.in.Bytes(), &out); err != nil {
		p.t.Fatal(err, p.in.Text())
	}
	return out
}

// call returns the answer to a request. It drops notifications.
func (p *peer) call(method string, params any) (result map[string]any, problem string) {
	p.t.Helper()
	p.id++
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": p.id, "method": method, "params": params})
	if err != nil {
		p.t.Fatal(err)
	}
	p.send(string(text))
	for {
		answer := p.next()
		if answer["id"] != float64(p.id) {
			continue
		}
		if e, ok := answer["error"].(map[string]any); ok {
			return nil, fmt.Sprintf("%v: %v", e["code"], e["message"])
		}
		return answer["result"].(map[string]any), ""
	}
}

// must is call for requests that must succeed.
func (p *peer) must(method string, params any) map[string]any {
	p.t.Helper()
	result, problem := p.call(method, params)
	if problem != "" {
		p.t.Fatalf("%s: %s", method, problem)
	}
	return result
}

type obj = map[string]any

const config = `
resource "terraform_data" "a" {
  count = 2
  input = "x${count.index}"
}
output "o" { value = terraform_data.a[*].output }
`

func TestBadMessages(t *testing.T) {
	p := connect(t, start(t, &cliconfig.Config{}, map[string]string{"main.tf": config}))
	for line, want := range map[string]string{
		"garbage":                       "-32700",
		`{"id":7}`:                      "-32600",
		`[]`:                            "-32600",
		`{"jsonrpc":"2.0","id":{},"a":`: "-32700",
		`{"jsonrpc":"1.0","id":7,"method":"open"}`:                                                       "-32600",
		`{"jsonrpc":"2.0","id":7,"method":"none"}`:                                                       "-32601",
		`{"jsonrpc":"2.0","id":7,"method":"plan","params":{"root":"nowhere"}}`:                           "4",
		`{"jsonrpc":"2.0","id":7,"method":"plan","params":{"rot":"."}}`:                                  "-32602",
		`{"jsonrpc":"2.0","id":7,"method":"open","params":[1]}`:                                          "-32602",
		`{"jsonrpc":"2.0","id":7,"method":"open","params":{"dir":"nowhere"}}`:                            "1",
		`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocol":99}}`:                        "3",
		`{"jsonrpc":"2.0","id":7,"method":"open","params":{"dir":"` + strings.Repeat("a/", 5000) + `"}}`: "1",
	} {
		p.send(line)
		answer := p.next()
		e, _ := answer["error"].(map[string]any)
		if e == nil || fmt.Sprint(e["code"]) != want {
			t.Errorf("%.80s: %v, want the error %s", line, answer, want)
		}
	}
	p.send(`{"jsonrpc":"2.0","method":"unknown/notification"}`)
	p.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":"nothing"}}`)
	p.must("open", obj{"dir": "."})
}

// TestTwoClients checks that a text belongs to one client, and is taken back when the client goes.
func TestTwoClients(t *testing.T) {
	s := start(t, &cliconfig.Config{}, map[string]string{"main.tf": config})
	one, two := connect(t, s), connect(t, s)
	one.must("open", obj{"dir": "."})
	one.must("text/set", obj{"path": "main.tf", "text": `output "other" { value = 1 + }`})
	if _, problem := two.call("text/set", obj{"path": "./main.tf", "text": ""}); !strings.HasPrefix(problem, "2:") {
		t.Error(problem)
	}
	valid := func() any {
		return two.must("diagnostics", obj{"root": "."})["diagnostics"].(map[string]any)["valid"]
	}
	if valid() != false {
		t.Error("the text of the other client has no effect")
	}
	_ = one.conn.Close()
	if err := <-one.done; err != nil {
		t.Error(err)
	}
	if valid() != true {
		t.Error("the text of a client that has gone still has an effect")
	}
}

// TestVariablesOfMember checks that the variables of the last "open" count, of an estate or of one of its root modules.
func TestVariablesOfMember(t *testing.T) {
	const config = "variable \"v\" {}\noutput \"o\" { value = var.v }\n"
	p := connect(t, start(t, &cliconfig.Config{}, map[string]string{"a/main.tf": config, "b/main.tf": config}))
	expect := func(a, b string) {
		t.Helper()
		for root, want := range map[string]string{"a": a, "b": b} {
			if got := p.must("evaluate", obj{"root": root, "expression": "var.v"})["value"]; got != want {
				t.Errorf("%s: %v, want %s", root, got, want)
			}
		}
	}
	all := obj{"dir": ".", "estate": true, "variables": obj{"v": "all"}}
	p.must("open", all)
	expect("all", "all")
	p.must("open", obj{"dir": "a", "variables": obj{"v": "one"}})
	expect("one", "all")
	p.must("open", all)
	expect("all", "all")
}

// TestTextPaths checks that only files have texts, whether they exist or not.
func TestTextPaths(t *testing.T) {
	p := connect(t, start(t, &cliconfig.Config{}, map[string]string{"main.tf": config, "sub/main.tf": config}))
	for _, path := range []string{"", ".", "sub", "sub/", "..", "/"} {
		for _, method := range []string{"text/set", "text/drop"} {
			params := obj{"path": path}
			if method == "text/set" {
				params["text"] = config
			}
			if _, problem := p.call(method, params); !strings.HasPrefix(problem, "-32602:") {
				t.Errorf("%s %q: %q", method, path, problem)
			}
		}
	}
	for _, path := range []string{"new.tf", "none/new.tf", "../beside.tf", filepath.Join(t.TempDir(), "new.tf")} {
		p.must("text/set", obj{"path": path, "text": "output \"n\" { value = 1 }"})
		p.must("text/drop", obj{"path": path})
	}
}

// TestApply checks that nothing but an approved plan is applied, and that once.
func TestApply(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	_, otherKey, _ := ed25519.GenerateKey(nil)
	cli := &cliconfig.Config{ApprovalKeys: []ed25519.PublicKey{public}}
	s := start(t, cli, map[string]string{"main.tf": config})
	p := connect(t, s)
	p.must("open", obj{"dir": "."})
	digest := p.must("propose", obj{"root": "."})["digest"].(string)
	approval := func(of string, key ed25519.PrivateKey, valid time.Duration) *warm.Approval {
		a := &warm.Approval{Digest: of, Expires: time.Now().Add(valid).UTC().Truncate(time.Second)}
		a.Sign(key)
		return a
	}
	applied := func(token *warm.Approval) (bool, string) {
		params := obj{"root": ".", "digest": digest}
		if token != nil {
			params["approval"] = token
		}
		result := p.must("apply", params)
		return result["begun"].(bool), fmt.Sprint(result["diagnostics"])
	}
	longer := approval(digest, private, time.Hour)
	longer.Expires = longer.Expires.Add(time.Hour)
	for name, token := range map[string]*warm.Approval{
		"none": nil, "another key": approval(digest, otherKey, time.Hour), "expired": approval(digest, private, -time.Hour),
		"another plan": approval(strings.Repeat("0", 64), private, time.Hour), "changed": longer, "unsigned": {Digest: digest, Expires: longer.Expires},
	} {
		if begun, text := applied(token); begun || !strings.Contains(text, "pprov") {
			t.Errorf("%s: %t %s", name, begun, text)
		}
	}
	used := approval(digest, private, time.Hour)
	if begun, text := applied(used); !begun || !strings.Contains(text, "valid:true") {
		t.Errorf("%t %s", begun, text)
	}
	if outputs := fmt.Sprint(p.must("outputs", obj{"root": "."})["outputs"]); !strings.Contains(outputs, "x0 x1") {
		t.Error(outputs)
	}
	if begun, text := applied(used); begun || !strings.Contains(text, "used up") {
		t.Errorf("the same approval: %t %s", begun, text)
	}
	if begun, text := applied(approval(digest, private, 2*time.Hour)); begun || !strings.Contains(text, "stale") {
		t.Errorf("a second time: %t %s", begun, text)
	}

	// A proposal that was changed on disk is not applied.
	digest = p.must("propose", obj{"root": ".", "mode": "destroy"})["digest"].(string)
	path := filepath.Join(".terraform", "proposals", digest+".tfplan")
	if err := os.WriteFile(path, []byte("PK other"), 0o600); err != nil {
		t.Fatal(err)
	}
	if begun, text := applied(approval(digest, private, time.Hour)); begun || !strings.Contains(text, "changed") {
		t.Errorf("%t %s", begun, text)
	}
}

// TestGone checks that an apply of a client that goes away is recorded, and that a canceled request and
// a directory that disappears are errors only to their requests.
func TestGone(t *testing.T) {
	s := start(t, &cliconfig.Config{}, map[string]string{"main.tf": `
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "touch begun; sleep 1" }
}
resource "terraform_data" "b" { input = terraform_data.a.id }
`, "other/main.tf": config})
	p := connect(t, s)
	p.must("open", obj{"dir": "."})
	digest := p.must("propose", obj{"root": "."})["digest"].(string)
	proposals := &warm.Proposals{Dir: ".terraform"}
	if err := proposals.Approve(&warm.Approval{Digest: digest, Expires: time.Now().Add(time.Minute)}); err != nil {
		t.Fatal(err)
	}
	p.send(`{"jsonrpc":"2.0","id":"x","method":"apply","params":{"root":".","digest":"` + digest + `"}}`)
	for {
		if _, err := os.Stat("begun"); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	_ = p.conn.Close()
	if err := <-p.done; err != nil {
		t.Error(err)
	}
	p = connect(t, s)
	doc, _ := json.Marshal(p.must("state", obj{"root": "."})["state"])
	if !strings.Contains(string(doc), `"terraform_data.a"`) || strings.Contains(string(doc), `"terraform_data.b"`) {
		t.Errorf("the state after the client has gone: %s", doc)
	}

	p.must("open", obj{"dir": "other"})
	p.must("plan", obj{"root": "other"})
	if err := os.RemoveAll("other"); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(p.must("plan", obj{"root": "other"})["diagnostics"])
	if !strings.Contains(text, "does not exist") {
		t.Error(text)
	}

	// A request that waits for a provisioner is canceled.
	if err := os.WriteFile("data.tf", []byte("data \"terraform_remote_state\" \"x\" {\n  backend = \"local\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.send(`{"jsonrpc":"2.0","id":"slow","method":"plan","params":{"root":"."}}`)
	p.send(`{"jsonrpc":"2.0","method":"cancel","params":{"id":"slow"}}`)
	if answer := p.next(); answer["id"] != "slow" {
		t.Error(answer)
	}
	p.must("diagnostics", obj{"root": "."})
}

func TestSocket(t *testing.T) {
	s := start(t, &cliconfig.Config{}, map[string]string{"main.tf": config})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Listen(ctx, "sock") }()
	var conn net.Conn
	for conn == nil {
		conn, _ = net.Dial("unix", "sock")
	}
	if info, err := os.Stat("sock"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("rights %v, %v", info, err)
	}
	if err := s.Listen(ctx, "sock"); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Error(err)
	}
	if err := s.Listen(ctx, "main.tf"); err == nil || !strings.Contains(err.Error(), "not a socket") {
		t.Error(err)
	}
	p := &peer{t: t, conn: conn, in: bufio.NewScanner(conn)}
	p.must("initialize", obj{})

	// Links at the path are not followed, wherever they lead to; those in its directory are.
	for _, to := range []string{"sock", "main.tf", "missing"} {
		if err := os.Symlink(to, "link"); err != nil {
			t.Fatal(err)
		}
		if err := s.Listen(ctx, "link"); err == nil || !strings.Contains(err.Error(), "not a socket") {
			t.Errorf("a link to %s: %v", to, err)
		}
		if at, err := os.Readlink("link"); err != nil || at != to {
			t.Errorf("the link to %s: %s, %v", to, at, err)
		}
		os.Remove("link")
	}
	if err := errors.Join(os.Mkdir("real", 0o755), os.Symlink("real", "dir")); err != nil {
		t.Fatal(err)
	}
	linked := make(chan error, 1)
	go func() { linked <- s.Listen(ctx, "dir/sock") }()
	for conn = nil; conn == nil; {
		conn, _ = net.Dial("unix", "real/sock")
	}
	if info, err := os.Lstat("real/sock"); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("rights %v, %v", info, err)
	}
	conn.Close()
	cancel()
	if err := <-linked; err != nil {
		t.Error(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat("sock"); err == nil {
		t.Error("the socket is left behind")
	}
}

// TestSecrets sends every request, and checks which answers and notifications have secrets: only the documents
// of `show -json`, which are documented to have sensitive values, but no ephemeral ones.
func TestSecrets(t *testing.T) {
	t.Setenv("TF_VAR_key", "canary-of-a-variable")
	t.Setenv("TF_VAR_once", "canary-of-a-run")
	s := start(t, &cliconfig.Config{}, map[string]string{"main.tf": `
variable "key" { sensitive = true }
variable "once" { ephemeral = true }
locals { both = { secret = var.key, plain = upper(var.once) } }
resource "terraform_data" "a" { input = "x${var.key}" }
resource "terraform_data" "many" {
  for_each = toset(["k"])
  input    = [var.key]
}
resource "terraform_data" "two" {
  count = 2
  input = { key = var.key, plain = "p" }
}
output "key" {
  value     = terraform_data.a.input
  sensitive = true
}
`})
	p := connect(t, s)
	ask := func(method string, params obj, allowed bool) map[string]any {
		t.Helper()
		p.id++
		text, err := json.Marshal(obj{"jsonrpc": "2.0", "id": p.id, "method": method, "params": params})
		if err != nil {
			t.Fatal(err)
		}
		p.send(string(text))
		for {
			answer := p.next()
			all, _ := json.Marshal(answer)
			lower := strings.ToLower(string(all))
			if strings.Contains(lower, "canary-of-a-run") || strings.Contains(lower, "canary") && (!allowed || answer["id"] == nil) {
				t.Errorf("%s %v: %s", method, params, all)
			}
			if answer["id"] == float64(p.id) {
				result, _ := answer["result"].(map[string]any)
				return result
			}
		}
	}
	seen := map[string]bool{}
	for _, round := range []string{"before", "after"} { // an apply
		var digest any
		for _, one := range []struct {
			method  string
			params  obj
			allowed bool
		}{
			{"initialize", obj{}, false}, {"open", obj{"dir": "."}, false}, {"open", obj{"dir": ".", "estate": true}, false},
			{"watch", obj{}, false},
			{"text/set", obj{"path": "more.tf", "text": "output \"n\" { value = parseint(var.key, 10) }"}, false},
			{"diagnostics", obj{"root": "."}, false}, {"plan", obj{"root": ".", "progress": 1}, true},
			{"explain", obj{"root": ".", "address": "output.n"}, false}, {"text/drop", obj{"path": "more.tf"}, false},
			{"plan", obj{"root": ".", "progress": 1, "refresh": "all"}, true}, {"explain", obj{"root": ".", "address": "terraform_data.a"}, false},
			{"explain", obj{"root": ".", "address": "local.both"}, false}, {"explain", obj{"root": ".", "address": "output.key"}, false},
			{"graph", obj{"root": "."}, false}, {"graph", obj{"root": ".", "address": "var.key"}, false},
			{"evaluate", obj{"root": ".", "expression": "local.both"}, false}, {"evaluate", obj{"root": ".", "expression": "parseint(local.both.secret, 10)"}, false},
			{"evaluate", obj{"root": ".", "expression": "terraform_data.a.input"}, false},
			{"evaluate", obj{"root": ".", "expression": "[terraform_data.a.output, terraform_data.a]"}, false},
			{"evaluate", obj{"root": ".", "expression": "[terraform_data.many, terraform_data.many[\"k\"].output]"}, false},
			{"evaluate", obj{"root": ".", "expression": "terraform_data.two[*].output"}, false}, {"outputs", obj{"root": "."}, false},
			{"state", obj{"root": "."}, true}, {"drift", obj{"root": ".", "progress": 1}, false}, {"propose", obj{"root": ".", "progress": 1}, true},
			{"apply", obj{"root": ".", "progress": 1}, false}, {"shutdown", obj{}, false},
		} {
			if one.method == "apply" {
				if a := (&warm.Approval{Digest: fmt.Sprint(digest), Expires: time.Now().Add(time.Minute)}); round == "before" {
					if err := (&warm.Proposals{Dir: ".terraform"}).Approve(a); err != nil {
						t.Fatal(err)
					}
				}
				one.params["digest"] = digest
			}
			if one.method == "shutdown" && round == "before" {
				continue
			}
			seen[one.method] = true
			result := ask(one.method, one.params, one.allowed)
			if one.method == "propose" {
				digest = result["digest"]
			}
			if one.method == "apply" && result["begun"] != (round == "before") {
				t.Errorf("%s: %v", round, result)
			}
		}
	}
	for name := range methods() {
		if !seen[name] {
			t.Errorf("no request %s", name)
		}
	}
}

// TestCrash checks that a panic in a method is an error of its request.
func TestCrash(t *testing.T) {
	s := start(t, &cliconfig.Config{}, map[string]string{"main.tf": config})
	for name, now := range map[string]bool{"crash": false, "crash/now": true} {
		s.methods[name] = in(now, func(*client, context.Context, *none) (any, error) { panic("oops") })
	}
	p := connect(t, s)
	for name := range map[string]bool{"crash": true, "crash/now": true} {
		if _, problem := p.call(name, obj{}); !strings.HasPrefix(problem, "1: The request crashed") {
			t.Error(problem)
		}
	}
	p.must("open", obj{"dir": "."})
}
