package provisioner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"tofu/internal/lang/marks"
	"tofu/internal/testenv"
	"tofu/internal/tfdiags"
)

// values holds the arguments of a block. Arguments that are missing are null.
type values map[string]cty.Value

func (v values) with(more values) values {
	out := maps.Clone(v)
	maps.Copy(out, more)
	return out
}

// object returns the arguments as an object that conforms to the schema of the provisioner typ.
func (v values) object(t *testing.T, typ string) cty.Value {
	t.Helper()
	schema, err := Builtin(typ).Schema()
	check(t, err)
	attrs := map[string]cty.Value{}
	for name, attr := range schema.Block.Attributes {
		attrs[name] = cty.NullVal(attr.Type)
	}
	maps.Copy(attrs, v)
	return cty.ObjectVal(attrs)
}

func list(items ...string) cty.Value {
	var out []cty.Value
	for _, item := range items {
		out = append(out, cty.StringVal(item))
	}
	return cty.ListVal(out)
}

func str(s string) cty.Value { return cty.StringVal(s) }

// printed collects lines of output.
type printed struct {
	mu    sync.Mutex
	lines []string
}

func (p *printed) add(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, line)
}

func (p *printed) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.lines)
}

// after returns the lines that follow the line equal to text.
func (p *printed) after(text string) []string {
	all := p.all()
	return all[slices.Index(all, text)+1:]
}

func (s *sshd) connection() values {
	return values{
		"type": str("ssh"), "host": str("127.0.0.1"), "port": cty.NumberIntVal(int64(s.port)), "user": str(s.user),
		"private_key": str(s.key), "timeout": str("60s"), "agent": cty.False,
		"script_path": str(s.path("script_%RAND%.sh")),
	}
}

func run(t *testing.T, typ string, config, conn values) ([]string, tfdiags.Diagnostics) {
	t.Helper()
	var p printed
	diags := Builtin(typ).Run(t.Context(), config.object(t, typ), cty.ObjectVal(conn), p.add)
	return p.after("Connected!"), diags
}

func mustRun(t *testing.T, typ string, config, conn values) []string {
	t.Helper()
	out, diags := run(t, typ, config, conn)
	if diags.HasErrors() {
		t.Fatalf("%s: %v", typ, diags.Err())
	}
	return out
}

func wantError(t *testing.T, diags tfdiags.Diagnostics, part string) {
	t.Helper()
	if err := diags.Err(); err == nil || !strings.Contains(err.Error(), part) {
		t.Errorf("error is %v, want one with %q", err, part)
	}
}

func TestRemoteExec(t *testing.T) {
	t.Parallel()
	s := startSSHD(t)
	local := filepath.Join(t.TempDir(), "local.sh")
	check(t, os.WriteFile(local, []byte("#!/bin/sh -e\necho from a file\nfalse\necho never\n"), 0o600))

	got := mustRun(t, "remote-exec", values{"inline": list("V='a  b'", "echo \"$V\"", "printf 'x\\ny'",
		"test -t 1 && echo tty", "echo err >&2")}, s.connection())
	if want := []string{"a  b", "x", "ytty", "err"}; !slices.Equal(got, want) {
		t.Errorf("inline printed %q, want %q", got, want)
	}
	got, diags := run(t, "remote-exec", values{"script": str(local)}, s.connection())
	if want := []string{"from a file"}; !slices.Equal(got, want) {
		t.Errorf("script printed %q, want %q", got, want)
	}
	wantError(t, diags, "exit status 1")
	_, diags = run(t, "remote-exec", values{"scripts": list(local, "/nonexistent/script")}, s.connection())
	wantError(t, diags, "/nonexistent/script")
	_, diags = run(t, "remote-exec", values{"inline": list("kill -9 $$")}, s.connection())
	wantError(t, diags, "KILL")
	if left, _ := filepath.Glob(s.path("script_*")); len(left) > 0 {
		t.Errorf("scripts were left behind: %s", left)
	}
	_, diags = run(t, "remote-exec", values{"inline": list("true")},
		s.connection().with(values{"script_path": str("/nonexistent/x.sh")}))
	wantError(t, diags, "No such file or directory")
}

func TestRelativeScriptPath(t *testing.T) {
	t.Parallel()
	s := startSSHD(t)
	got := mustRun(t, "remote-exec", values{"inline": list("echo $0")},
		s.connection().with(values{"script_path": str("tofu_test_%RAND%.sh")}))
	if len(got) != 1 || !strings.HasPrefix(got[0], "./tofu_test_") {
		t.Errorf("printed %q", got)
	}
}

// TestScriptPathIsOneWord checks that a script path can't contain a command that the remote machine
// would execute.
func TestScriptPathIsOneWord(t *testing.T) {
	t.Parallel()
	s := startSSHD(t)
	for _, name := range []string{
		"a b.sh", "a; touch pwned; b.sh", "$(touch pwned).sh", "`touch pwned`", "a' ; touch pwned; '.sh",
		`a" & touch pwned & "`, "a|b&c.sh",
	} {
		conn := s.connection().with(values{"script_path": str(s.path(name))})
		if got := mustRun(t, "remote-exec", values{"inline": list("echo ran")}, conn); !slices.Equal(got,
			[]string{"ran"}) {
			t.Errorf("%s printed %q", name, got)
		}
		mustRun(t, "file", values{"content": str("x"), "destination": str(s.path(name))}, conn)
		if _, err := os.Stat(s.path(name)); err != nil {
			t.Error(err)
		}

		onWindows := conn.with(values{"target_platform": str("windows")})
		_, diags := run(t, "remote-exec", values{"inline": list("echo ran")}, onWindows)
		wantError(t, diags, "can't be run on Windows because of the character")
	}
	home, err := os.UserHomeDir()
	check(t, err)
	if found, _ := filepath.Glob(filepath.Join(home, "*pwned*")); len(found) > 0 {
		t.Errorf("commands in a path were run: %s", found)
	}
	windows := s.connection().with(values{"target_platform": str("windows")})
	for _, dst := range []string{`C:/x" & touch pwned & "`, "C:/$(touch pwned)", "C:/`touch pwned`"} {
		_, diags := run(t, "file", values{"content": str("x"), "destination": str(dst)}, windows)
		wantError(t, diags, "can't be used on Windows")
	}
}

func TestRemoteExecInterrupted(t *testing.T) {
	t.Parallel()
	s := startSSHD(t)
	ctx, cancel := context.WithCancel(t.Context())
	ended := s.path("ended")
	config := values{"inline": list("trap 'echo over > "+ended+"; exit 1' HUP", "echo ready",
		"while :; do sleep 0.1; done")}
	start := time.Now()
	diags := Builtin("remote-exec").Run(ctx, config.object(t, "remote-exec"), cty.ObjectVal(s.connection()),
		func(line string) {
			if line == "ready" {
				cancel()
			}
		})
	wantError(t, diags, "interrupted")
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %s to end", took)
	}
	eventually(t, "the command ends", func() bool {
		_, err := os.Stat(ended)
		return err == nil
	})
	if left, _ := filepath.Glob(s.path("script_*")); len(left) > 0 {
		t.Errorf("scripts were left behind: %s", left)
	}
}

func TestFileUpload(t *testing.T) {
	t.Parallel()
	s := startSSHD(t)
	src := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(src, name)
		testenv.WriteFile(t, path, text)
		return path
	}
	big := strings.Repeat("0123456789abcdef", 1<<14)
	file := write("a file.txt", big)
	write("tree/top", "top")
	write("tree/sub/inner", "inner")
	write("tree/empty", "")
	check(t, os.Symlink("top", filepath.Join(src, "tree/link")))
	for _, dir := range []string{"into", "it's a dir", "t1", "t2"} {
		check(t, os.Mkdir(s.path(dir), 0o755))
	}
	for _, tc := range []struct{ config, want values }{
		{values{"content": str("text")}, values{"plain": str("text")}},
		{values{"content": str("text")}, values{"into": str("into/tf-file-content=text")}},
		{values{"content": str("")}, values{"none": str("")}},
		{values{"source": str(file)}, values{"it's a dir/$HOME": str(big)}},
		{values{"source": str(file)}, values{"into": str("into/a file.txt=" + big)}},
		{values{"source": str(src + "/tree")}, values{"t1": str("t1/tree/sub/inner=inner")}},
		{values{"source": str(src + "/tree")}, values{"t1": str("t1/tree/link=top")}},
		{values{"source": str(src + "/tree/")}, values{"t2": str("t2/empty=")}},
		{values{"source": str(src + "/tree/")}, values{"t2": str("t2/link=top")}},
	} {
		for dst, want := range tc.want {
			mustRun(t, "file", tc.config.with(values{"destination": str(s.path(dst))}), s.connection())
			path, text, ok := strings.Cut(want.AsString(), "=")
			if !ok {
				path, text = dst, want.AsString()
			}
			got, err := os.ReadFile(s.path(path))
			if err != nil || string(got) != text {
				t.Errorf("%s: %d bytes, %v; want %d bytes", path, len(got), err, len(text))
			}
		}
	}
	info, err := os.Stat(s.path("plain"))
	check(t, err)
	if info.Mode().Perm() != 0o644 {
		t.Errorf("mode is %o", info.Mode().Perm())
	}
	_, diags := run(t, "file", values{"content": str("x"), "destination": str("/nonexistent/dir/x")}, s.connection())
	wantError(t, diags, "No such file or directory")
	_, diags = run(t, "file", values{"source": str(src + "/missing"), "destination": str("x")}, s.connection())
	wantError(t, diags, "missing")
	check(t, os.Symlink("nowhere", filepath.Join(src, "tree/dangling")))
	_, diags = run(t, "file", values{"source": str(src + "/tree"), "destination": str(s.path("t1"))}, s.connection())
	wantError(t, diags, "dangling")
}

func TestHomeDirectory(t *testing.T) {
	t.Parallel()
	s := startSSHD(t)
	out := mustRun(t, "remote-exec", values{"inline": list("mktemp ~/tofu-test-XXXXXX")}, s.connection())
	path := out[0]
	t.Cleanup(func() { os.Remove(path) })
	mustRun(t, "file", values{"content": str("home"), "destination": str("~/" + filepath.Base(path))}, s.connection())
	if got, err := os.ReadFile(path); err != nil || string(got) != "home" {
		t.Errorf("%s holds %q, %v", path, got, err)
	}
}

func TestHostKeys(t *testing.T) {
	t.Parallel()
	s := startSSHD(t)
	_, other := newKey(t)
	for _, tc := range []struct{ name, key, err string }{
		{"plain key", authorized(s.host), ""},
		{"authority", authorized(s.ca.PublicKey()), ""},
		{"other key", authorized(other.PublicKey()), "can't be verified with host_key: "},
		{"no key", "nonsense", "not a public key"},
	} {
		start := time.Now()
		_, diags := run(t, "remote-exec", values{"inline": list("true")},
			s.connection().with(values{"host_key": str(tc.key)}))
		if tc.err == "" && diags.HasErrors() {
			t.Errorf("%s: %v", tc.name, diags.Err())
		}
		if tc.err != "" {
			wantError(t, diags, tc.err)
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("%s: tried for %s", tc.name, took)
			}
		}
	}
	// The certificate is valid only for the IP address.
	conn := s.connection().with(values{"host": str("localhost"), "host_key": str(authorized(s.ca.PublicKey()))})
	_, diags := run(t, "remote-exec", values{"inline": list("true")}, conn)
	wantError(t, diags, "can't be verified with host_key: ")
}

func TestUserCertificate(t *testing.T) {
	t.Parallel()
	s := startSSHD(t)
	text, key := newKey(t)
	cert := s.certify(t, key.PublicKey(), ssh.UserCert, s.user)
	conn := s.connection().with(values{"private_key": str(text)})
	_, diags := run(t, "remote-exec", values{"inline": list("true")}, conn.with(values{"timeout": str("4s")}))
	wantError(t, diags, "unable to authenticate")
	mustRun(t, "remote-exec", values{"inline": list("true")}, conn.with(values{"certificate": str(authorized(cert))}))
	_, diags = run(t, "remote-exec", values{"inline": list("true")},
		conn.with(values{"certificate": str(authorized(s.pub))}))
	wantError(t, diags, "plain public key")
}

func TestAgent(t *testing.T) {
	s := startSSHD(t)
	keyring := agent.NewKeyring()
	for i := range 8 { // more keys than the server allows attempts to log in
		text, _ := newKey(t)
		key, err := ssh.ParseRawPrivateKey([]byte(text))
		check(t, err)
		check(t, keyring.Add(agent.AddedKey{PrivateKey: key, Comment: string(rune('a' + i))}))
	}
	key, err := ssh.ParseRawPrivateKey([]byte(s.key))
	check(t, err)
	check(t, keyring.Add(agent.AddedKey{PrivateKey: key, Comment: "mine"}))
	serveAgent(t, keyring)
	s.write(t, "mine.pub", authorized(s.pub))

	conn := s.connection().with(values{"private_key": cty.NullVal(cty.String), "agent": cty.NullVal(cty.Bool)})
	for _, identity := range []string{"mine", s.path("mine"), s.path("mine.pub")} {
		out := mustRun(t, "remote-exec", values{"inline": list("echo ${SSH_AUTH_SOCK:+forwarded}")},
			conn.with(values{"agent_identity": str(identity)}))
		if want := []string{"forwarded"}; !slices.Equal(out, want) {
			t.Errorf("with identity %s: printed %q, want %q", identity, out, want)
		}
	}
	_, diags := run(t, "remote-exec", values{"inline": list("true")}, conn.with(values{"timeout": str("4s")}))
	wantError(t, diags, "o connection within 4s")
	t.Setenv("SSH_AUTH_SOCK", "")
	_, diags = run(t, "remote-exec", values{"inline": list("true")}, conn.with(values{"agent": cty.True}))
	wantError(t, diags, "SSH_AUTH_SOCK is not set")
}

// TestSilentAgent checks that a run can be interrupted while the agent waits for its user.
func TestSilentAgent(t *testing.T) {
	s := startSSHD(t)
	asked := make(chan struct{}, 1)
	listenAsAgent(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1))
		asked <- struct{}{}
		_, _ = io.Copy(io.Discard, conn)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		<-asked
		cancel()
	}()
	conn := s.connection().with(values{"private_key": cty.NullVal(cty.String), "agent": cty.True})
	diags := Builtin("remote-exec").Run(ctx, values{"inline": list("true")}.object(t, "remote-exec"),
		cty.ObjectVal(conn), func(string) {})
	wantError(t, diags, "nterrupted")
}

func serveAgent(t *testing.T, keyring agent.Agent) {
	t.Helper()
	listenAsAgent(t, func(conn net.Conn) { agent.ServeAgent(keyring, conn) })
}

// listenAsAgent listens as the SSH agent of this process and calls serve for each connection.
func listenAsAgent(t *testing.T, serve func(net.Conn)) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("agents are reached through pipes there")
	}
	dir, err := os.MkdirTemp("", "agent") // the path of a socket must be short
	check(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "a"))
	check(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go serve(conn)
		}
	}()
	t.Setenv("SSH_AUTH_SOCK", filepath.Join(dir, "a"))
}

func TestBastion(t *testing.T) {
	t.Parallel()
	bastion, target := startSSHD(t), startSSHD(t)
	conn := target.connection().with(values{
		"bastion_host": str("127.0.0.1"), "bastion_port": cty.NumberIntVal(int64(bastion.port)),
		"bastion_private_key": str(bastion.key),
		"bastion_host_key":    str(authorized(bastion.host)), "host_key": str(authorized(target.host)),
	})
	if out := mustRun(t, "remote-exec", values{"inline": list("echo there")}, conn); !slices.Equal(out,
		[]string{"there"}) {
		t.Errorf("printed %q", out)
	}
	_, diags := run(t, "remote-exec", values{"inline": list("true")},
		conn.with(values{"bastion_host_key": str(authorized(target.host))}))
	wantError(t, diags, "Bastion: ")
	_, diags = run(t, "remote-exec", values{"inline": list("true")},
		conn.with(values{"port": cty.NumberIntVal(1), "timeout": str("2s")}))
	wantError(t, diags, "from the bastion to 127.0.0.1:1")
}

func TestProxy(t *testing.T) {
	t.Parallel()
	s := startSSHD(t)
	asked := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		r.Header.Set("Authorization", r.Header.Get("Proxy-Authorization"))
		if user, password, _ := r.BasicAuth(); user != "me" || password != "secret" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		onward, err := net.Dial("tcp", r.Host)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusOK)
		conn, buf, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		go func() {
			io.Copy(conn, onward)
			conn.Close()
		}()
		io.Copy(onward, buf)
		onward.Close()
	}))
	defer server.Close()
	addr := server.Listener.Addr().(*net.TCPAddr)
	conn := s.connection().with(values{"proxy_scheme": str("http"), "proxy_host": str(addr.IP.String()),
		"proxy_port":      cty.NumberIntVal(int64(addr.Port)),
		"proxy_user_name": str("me"), "proxy_user_password": str("secret")})
	mustRun(t, "remote-exec", values{"inline": list("true")}, conn)
	if got, want := <-asked, "CONNECT 127.0.0.1:"+conn["port"].AsBigFloat().String(); got != want {
		t.Errorf("the proxy was asked for %q, want %q", got, want)
	}
	_, diags := run(t, "remote-exec", values{"inline": list("true")},
		conn.with(values{"proxy_user_password": str("wrong"), "timeout": str("1s")}))
	wantError(t, diags, "407")
	_, diags = run(t, "remote-exec", values{"inline": list("true")}, conn.with(values{"proxy_scheme": str("ftp")}))
	wantError(t, diags, "proxy_scheme")
}

// TestProxyHangsUp checks that if the proxy closes the connection without a response, the error
// names the proxy.
func TestProxyHangsUp(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conn.Close()
		}
	}()
	addr := listener.Addr().(*net.TCPAddr)
	conn := values{
		"host": str("127.0.0.1"), "password": str("x"), "agent": cty.False, "timeout": str("1s"),
		"proxy_host": str(addr.IP.String()), "proxy_port": cty.NumberIntVal(int64(addr.Port)),
	}
	_, diags := run(t, "remote-exec", values{"inline": list("true")}, conn)
	wantError(t, diags, "proxy: ")
}

// TestSecretConnection checks that sensitive parts of a connection are not printed.
func TestSecretConnection(t *testing.T) {
	secret := func(s string) cty.Value { return str(s).Mark(marks.Sensitive) }
	shown := values{"type": str("ssh"), "host": str("front"), "user": str("me"), "bastion_host": str("between"),
		"bastion_user": str("you"), "proxy_host": str("proxy")}
	for _, c := range []struct {
		connection cty.Value
		hidden     []string
	}{
		{cty.ObjectVal(shown), nil},
		{cty.ObjectVal(shown.with(values{"host": secret("front"), "bastion_user": secret("you")})),
			[]string{"front", "you"}},
		{cty.ObjectVal(shown.with(values{"user": secret("me"), "bastion_host": secret("between"),
			"proxy_host": secret("proxy")})), []string{"me", "you", "between", "proxy"}},
		{cty.ObjectVal(shown).Mark(marks.Sensitive), []string{"front", "me", "between", "you", "proxy"}},
	} {
		var p printed
		r := newRequest(cty.EmptyObjectVal, c.connection, p.add)
		conn, err := decodeConnection(r)
		check(t, err)
		announce(conn, false, r)
		for _, text := range []string{"front", "me", "between", "you", "proxy"} {
			hidden := !slices.ContainsFunc(p.all(),
				func(line string) bool { return strings.HasSuffix(line, ": "+text) })
			if hidden != slices.Contains(c.hidden, text) {
				t.Errorf("%s is hidden: %t, in %q", text, hidden, p.all())
			}
		}
	}
}

// TestPassword checks logins to servers that accept only passwords, with both of SSH's
// authentication methods for passwords.
func TestPassword(t *testing.T) {
	t.Parallel()
	_, hostKey := newKey(t)
	for name, config := range map[string]*ssh.ServerConfig{
		"password": {PasswordCallback: func(c ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			if c.User() == "me" && string(password) == "secret" {
				return nil, nil
			}
			return nil, fs.ErrPermission
		}},
		"keyboard-interactive": {
			KeyboardInteractiveCallback: func(c ssh.ConnMetadata, ask ssh.KeyboardInteractiveChallenge) (
				*ssh.Permissions, error) {
				answers, err := ask("", "", []string{"Password:"}, []bool{false})
				if err == nil && len(answers) == 1 && answers[0] == "secret" {
					return nil, nil
				}
				return nil, fs.ErrPermission
			}},
	} {
		config.AddHostKey(hostKey)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		check(t, err)
		defer l.Close()
		go func() {
			for {
				raw, err := l.Accept()
				if err != nil {
					return
				}
				go ssh.NewServerConn(raw, config)
			}
		}()
		addr := l.Addr().(*net.TCPAddr)
		for _, password := range []string{"secret", "wrong"} {
			c := &connection{endpoint: endpoint{host: "127.0.0.1", port: addr.Port, user: "me", password: password}}
			d, err := newSSHDialer(c, nil)
			check(t, err)
			_, release, err := d.dial(t.Context())
			if (err == nil) != (password == "secret") {
				t.Errorf("%s with password %q: %v", name, password, err)
			}
			if err == nil {
				release()
			}
		}
	}
}

// TestConnectionRetries checks that a connection is retried if the machine closes the first one.
func TestConnectionRetries(t *testing.T) {
	t.Parallel()
	s := startSSHD(t)
	late, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	served := make(chan error)
	go func() { served <- hangUpOnce(late, net.JoinHostPort("127.0.0.1", fmt.Sprint(s.port))) }()
	port := cty.NumberIntVal(int64(late.Addr().(*net.TCPAddr).Port))
	_, diags := run(t, "remote-exec", values{"inline": list("true")}, s.connection().with(values{"port": port}))
	late.Close() // the result no longer matters
	check(t, errors.Join(diags.Err(), <-served))
}

// hangUpOnce closes the first incoming connection and forwards the second one to another address.
func hangUpOnce(l net.Listener, onward string) error {
	first, err := l.Accept()
	if err != nil {
		return err
	}
	first.Close()
	in, err := l.Accept()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := net.Dial("tcp", onward)
	if err != nil {
		return err
	}
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(in, out) })
	_, _ = io.Copy(out, in)
	out.Close()
	back.Wait()
	return nil
}

// TestCheckConnection checks which arguments are rejected before there is a machine.
func TestCheckConnection(t *testing.T) {
	unknown := cty.UnknownVal(cty.String)
	for _, tc := range []struct {
		conn values
		want string // the argument and a part of the message, or "" if the connection is valid
	}{
		{values{}, ""},
		{values{"timeout": str("5 minutes")}, "timeout: is not a duration"},
		{values{"timeout": str("30")}, "timeout: is not a duration"},
		{values{"timeout": str("1h30m")}, ""},
		{values{"timeout": str("")}, ""},
		{values{"timeout": unknown, "type": unknown, "target_platform": unknown, "proxy_scheme": unknown}, ""},
		{values{"type": str("telnet")}, "type: is not supported"},
		{values{"type": str("SSH")}, ""},
		{values{"port": cty.NumberIntVal(65536)}, "port: from 1 to 65535"},
		{values{"port": cty.UnknownVal(cty.Number)}, ""},
		{values{"bastion_port": cty.NumberIntVal(-1)}, "bastion_port: from 1 to 65535"},
		{values{"proxy_host": str("p"), "proxy_scheme": str("socks5")}, "proxy_scheme: \"http\" or \"https\""},
		{values{"proxy_scheme": str("socks5")}, ""}, // there is no proxy
		{values{"target_platform": str("dos")}, "target_platform: \"unix\" or \"windows\""},
		{values{"target_platform": str("windows"), "script_path": str("C:/a b.cmd")}, "script_path: the character"},
	} {
		diags := Builtin("file").CheckConnection(tc.conn.object(t, "file"))
		argument, message, _ := strings.Cut(tc.want, ": ")
		switch {
		case tc.want == "" && len(diags) == 0:
		case tc.want == "" || len(diags) != 1 || !strings.Contains(diags[0].Detail, message) ||
			!diags[0].Path.Equals(cty.GetAttrPath(argument)):
			t.Errorf("%v: %v, want %q", tc.conn, diags, tc.want)
		}
	}
}

func TestConnectionInvalid(t *testing.T) {
	base := values{"host": str("127.0.0.1"), "port": cty.NumberIntVal(1), "timeout": str("10ms"), "agent": cty.False}
	for _, tc := range []struct {
		conn values
		err  string
	}{
		{values{"type": str("telnet")}, `onnection type "telnet" is not supported`},
		{values{"type": str("winrm")}, "OpenSSH server"},
		{values{"host": str("")}, "host is empty"},
		{values{"port": cty.NumberFloatVal(1.5)}, "from 1 to 65535"},
		{values{"port": str("x")}, "from 1 to 65535"},
		{values{"bastion_host": str("b"), "bastion_port": cty.NumberIntVal(70000)}, "bastion_port is 70000"},
		{values{"target_platform": str("mac")}, `"unix" or "windows", not "mac"`},
		{values{"certificate": str("x")}, "not the private_key"},
		{values{"private_key": str("x")}, "must be the key's text"},
		{values{}, "o connection within 10ms"},
	} {
		_, diags := run(t, "remote-exec", values{"inline": list("true")}, base.with(tc.conn))
		wantError(t, diags, tc.err)
	}
	diags := Builtin("file").Run(t.Context(), values{"content": str("x"), "destination": str("y")}.object(t,
		"file"), cty.NullVal(cty.EmptyObject), nil)
	wantError(t, diags, "Missing connection")
	_, diags = run(t, "remote-exec", values{"inline": list("true")},
		base.with(values{"timeout": str("soon"), "type": str("ssh"), "private_key": str("x")}))
	if len(diags) != 2 || diags[0].Severity != tfdiags.Warning {
		t.Errorf("a bad timeout is not warned of: %v", diags)
	}
}
