package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"tofu/internal/testenv/hosts"
)

// retried lists the expressions of Terragrunt's default retryable_errors. Terragrunt repeats a
// command whose output one of them matches. Each of them must match the output after the failure,
// which is one of failures; or can't match, for the reason in never.
var retried = []struct{ pattern, failure, never string }{
	{pattern: `(?s).*Failed to load state.*tcp.*timeout.*`, failure: "state unreachable"},
	{pattern: `(?s).*Failed to load backend.*TLS handshake timeout.*`, never: "no version of OpenTofu says this"},
	{pattern: `(?s).*Creating metric alarm failed.*request to update this alarm is in progress.*`, never: inAWS},
	{pattern: `(?s).*Error installing provider.*TLS handshake timeout.*`, never: inOldTerraform},
	{pattern: `(?s).*Error configuring the backend.*TLS handshake timeout.*`, never: inOldTerraform},
	{pattern: `(?s).*Error installing provider.*tcp.*timeout.*`, never: inOldTerraform},
	{pattern: `(?s).*Error installing provider.*tcp.*connection reset by peer.*`, never: inOldTerraform},
	{pattern: `NoSuchBucket: The specified bucket does not exist`, failure: "no bucket"},
	{pattern: `(?s).*Error creating SSM parameter: TooManyUpdates:.*`, never: inAWS},
	{pattern: `(?s).*app.terraform.io.*: 429 Too Many Requests.*`, failure: "module registry is busy"},
	{pattern: `(?s).*ssh_exchange_identification.*Connection closed by remote host.*`, failure: "git by ssh is closed"},
	{pattern: `(?s).*Client\.Timeout exceeded while awaiting headers.*`, failure: "versions unanswered"},
	{pattern: `(?s).*Could not download module.*The requested URL returned error: 429.*`, failure: "git is busy"},
	{pattern: `(?s).*net/http: TLS.*handshake timeout.*`, failure: "module archive, silent TLS"},
	{pattern: `(?s).*could not query provider registry.*context deadline exceeded.*`, failure: "versions unanswered"},
	{pattern: `(?s).*provider.*TLS handshake timeout.*`, failure: "silent TLS"},
	{pattern: `(?s).*provider.*tcp.*timeout.*`, failure: "unreachable"},
	{pattern: `(?s).*provider.*tcp.*connection reset by peer.*`, failure: "reset"},
	{pattern: `(?s).*provider.*context deadline exceeded.*`, failure: "unanswered"},
	{pattern: `(?s).*registry.*context deadline exceeded.*`, failure: "module registry, unanswered"},
	{pattern: `(?s).*Failed to resolve provider.*timeout.*`, failure: "silent TLS"},
	{pattern: `(?s).*Failed to resolve provider.*connection reset by peer.*`, failure: "reset"},
	{pattern: `(?s).*Failed to resolve provider.*context deadline exceeded.*`, failure: "unanswered"},
	{pattern: `(?s).*could not connect to registry.*timeout.*`, failure: "silent TLS"},
	{pattern: `(?s).*could not connect to registry.*connection reset by peer.*`, failure: "reset"},
	{pattern: `(?s).*could not connect to registry.*context deadline exceeded.*`, failure: "unanswered"},
	{pattern: `(?s).*failed to request discovery document.*context deadline exceeded.*`, failure: "unanswered"},
	{pattern: `(?s).*Failed to query available provider packages.*timeout.*`, never: notByNetwork},
	{pattern: `(?s).*Failed to query available provider packages.*connection reset by peer.*`, never: notByNetwork},
	{pattern: `(?s).*Failed to query available provider packages.*context deadline exceeded.*`, never: notByNetwork},
}

const (
	inAWS          = "the AWS provider says this; errors of providers are shown as they are"
	inOldTerraform = "Terraform said this before version 0.13"
	notByNetwork   = "it is about missing providers; errors of the network say \"Failed to resolve provider\""
)

// failure is a root module whose installation fails, or whose plan if there is a backend.
type failure struct {
	config  string
	useless bool // whether none of the expressions may match, because a repetition fails too
}

func provider(host string) string {
	return fmt.Sprintf("terraform {\n  required_providers {\n    x = { source = %q }\n  }\n}\n", host+"/acme/x")
}

func module(source string) string { return fmt.Sprintf("module \"m\" {\n  source = %q\n}\n", source) }

func backend(kind, settings string) string {
	return fmt.Sprintf("terraform {\n  backend %q {\n    %s\n  }\n}\n", kind, settings)
}

const noBucket = "bucket = \"nothing\"\n    key = \"k\"\n    region = \"eu-west-1\""

// failures returns the failures by name. unreachable is an address that doesn't accept connections.
func failures(unreachable string) map[string]failure {
	return map[string]failure{
		"silent TLS":                  {config: provider("registry.silent.test")},
		"unanswered":                  {config: provider("registry.unanswered.test")},
		"versions unanswered":         {config: provider("registry.halfway.test")},
		"reset":                       {config: provider("registry.reset.test")},
		"unreachable":                 {config: provider(strings.Replace(unreachable, "127.0.0.1", "localhost", 1))},
		"state unreachable":           {config: backend("http", fmt.Sprintf("address = %q", "http://"+unreachable))},
		"no bucket":                   {config: backend("s3", noBucket)},
		"git is busy":                 {config: module("git::https://busy.test/acme/m.git")},
		"git by ssh is closed":        {config: module("git::ssh://git@busy.test/acme/m.git")},
		"module archive, silent TLS":  {config: module("https://registry.silent.test/m.zip")},
		"module registry is busy":     {config: module("app.terraform.io/acme/m/none")},
		"module registry, unanswered": {config: module("registry.halfway.test/acme/m/none")},
		"unknown host":                {config: provider("registry.unknown.test"), useless: true},
		"unknown provider":            {config: provider("registry.empty.test"), useless: true},
	}
}

// failingHosts returns the handlers of the hosts of the failures.
func failingHosts() map[string]http.Handler {
	hang := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	busy := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	document := func(rest http.HandlerFunc) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/.well-known/") {
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"providers.v1": "/p/", "modules.v1": "/m/"}`)
				return
			}
			rest(w, r)
		})
	}
	return map[string]http.Handler{
		"registry.silent.test":     hosts.Tunnel(func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }),
		"registry.unanswered.test": hang,
		"registry.halfway.test":    document(hang),
		"registry.empty.test":      document(http.NotFound),
		"registry.reset.test": hosts.Tunnel(func(c net.Conn) {
			_ = c.(*net.TCPConn).SetLinger(0) // Close then resets the connection
			c.Close()
		}),
		"busy.test":        busy,
		"app.terraform.io": busy,
		"*.amazonaws.com": http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "<Error><Code>NoSuchBucket</Code>"+
				"<Message>The specified bucket does not exist</Message></Error>")
		}),
	}
}

// TestRetriedFailures checks that Terragrunt finds its expressions in the output after failures that
// may not happen again, and none in the output after others.
func TestRetriedFailures(t *testing.T) {
	dir := t.TempDir()
	proxy, err := hosts.New(dir, failingHosts())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = proxy.Close() })
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TF_CLI_CONFIG_FILE=" + os.DevNull,
		"GIT_SSL_CAINFO=" + filepath.Join(dir, "ca.pem"), "GIT_TERMINAL_PROMPT=0",
		"GIT_SSH_COMMAND=echo ssh_exchange_identification: Connection closed by remote host >&2; exit 255;",
		"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b", "TF_REGISTRY_CLIENT_TIMEOUT=5", "TOFU_HTTP_TIMEOUT=5",
		"TF_REGISTRY_DISCOVERY_RETRY=0", "TF_HTTP_RETRY_MAX=0"}
	for name, value := range proxy.Env() {
		env = append(env, name+"="+value)
	}
	outputs := make(map[string]string)
	all := failures(fullListener(t))
	results := make(chan [2]string, len(all))
	for name, f := range all {
		go func() { results <- [2]string{name, failing(filepath.Join(dir, name), f.config, env)} }()
	}
	for range all {
		result := <-results
		outputs[result[0]] = result[1]
		if result[1] == "" {
			t.Errorf("%s: nothing failed", result[0])
		}
	}
	for _, r := range retried {
		re := regexp.MustCompile(r.pattern)
		switch {
		case (r.failure == "") == (r.never == ""):
			t.Errorf("%s needs either a failure or a reason", r.pattern)
		case r.failure != "" && all[r.failure].config == "":
			t.Errorf("there is no failure %q", r.failure)
		case r.failure != "" && !re.MatchString(outputs[r.failure]):
			t.Errorf("%s does not match the output after the failure %q:\n%s", r.pattern, r.failure, outputs[r.failure])
		}
		for name, f := range all {
			if f.useless && re.MatchString(outputs[name]) {
				t.Errorf("%s matches the output after the failure %q:\n%s", r.pattern, name, outputs[name])
			}
		}
	}
}

// failing initializes and plans a new root module, and returns the output. It returns "" if both
// succeed.
func failing(root, config string, env []string) string {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err.Error()
	}
	if err := os.WriteFile(filepath.Join(root, "main.tf"), []byte(config), 0o644); err != nil {
		return err.Error()
	}
	for _, command := range []string{"init", "plan"} {
		cmd := exec.Command("tofu", command, "-no-color", "-input=false")
		cmd.Dir, cmd.Env = root, env
		if out, err := cmd.CombinedOutput(); err != nil {
			return string(out)
		}
	}
	return ""
}

// fullListener returns the address of a socket whose queue of connections is full, so that further
// ones are not accepted.
func fullListener(t *testing.T) string {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err != nil {
			return address
		}
		t.Cleanup(func() { c.Close() })
	}
}
