package getmodules

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"tofu/internal/testenv"
)

// TestGitVariables checks that gitVariables contains the variables that the installed git lists.
func TestGitVariables(t *testing.T) {
	out, err := exec.Command("git", "rev-parse", "--local-env-vars").Output()
	if err != nil {
		testenv.Missing(t, "there is no git", "install git")
	}
	for name := range strings.FieldsSeq(string(out)) {
		t.Setenv(name, "1")
		kept := name == "GIT_CONFIG_PARAMETERS" || name == "GIT_CONFIG_COUNT"
		env, _, err := gitEnv("", "")
		if err != nil || slices.Contains(env, name+"=1") != kept {
			t.Errorf("git gets %s: %t, %v", name, !kept, err)
		}
	}
	t.Setenv("HG_NODE", "1")
	t.Setenv("HGRCPATH", "1")
	if env := withoutVariables(os.Environ(), hgVariable); slices.Contains(env, "HG_NODE=1") ||
		!slices.Contains(env, "HGRCPATH=1") {
		t.Error("hg gets the variables of hooks, or no settings")
	}
}

// TestGitPassword checks that the credentials of an address are sent to its server, for the
// repository and its submodules, but appear neither in process arguments nor in messages.
func TestGitPassword(t *testing.T) {
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("this system doesn't show the arguments of processes in /proc")
	}
	l := newLab(t)
	backend := gitHTTPBackend(t)
	var mu sync.Mutex
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, processesWith(t, "SEKRET")...)
		mu.Unlock()
		if user, password, _ := r.BasicAuth(); user != "SEKRETuser" || password != "SEKRET pass" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		backend.ServeHTTP(w, r)
	}))
	defer server.Close()
	backend.Env = []string{"GIT_PROJECT_ROOT=" + l.top, "GIT_HTTP_EXPORT_ALL=1"}
	l.commit("sub", "v1", map[string]string{"main.tf": value("sub")})
	l.commit("repo", "v1", map[string]string{"main.tf": value("1")})
	l.git("repo", "-c", "protocol.file.allow=always", "submodule", "add", "-q", l.top+"/sub", "sub")
	l.write(map[string]string{"repo/.gitmodules": "[submodule \"sub\"]\n\tpath = sub\n\turl = ../sub\n"})
	l.commit("repo", "v2", map[string]string{"main.tf": value("2")})

	withLogin := strings.Replace(server.URL, "http://", "git::http://SEKRETuser:SEKRET%20pass@", 1) + "/repo"
	l.good(call("a", withLogin))
	l.has(".terraform/modules/a/main.tf", value("2"))
	l.has(".terraform/modules/a/sub/main.tf", value("sub"))
	if tags, err := Tags(t.Context(), withLogin); err != nil || !slices.Equal(tags, []string{"v1", "v2"}) {
		t.Errorf("%q %v", tags, err)
	}
	if len(seen) > 0 {
		t.Errorf("the password is among the arguments of\n%s", strings.Join(seen, "\n"))
	}
	wrong := strings.Replace(withLogin, "pass@", "wrong@", 1)
	if err := l.install(call("b", wrong), false); err == nil || strings.Contains(err.Error(), "SEKRET") ||
		!strings.Contains(err.Error(), "uthentication failed") {
		t.Errorf("with a wrong password: %v", err)
	}
}

// gitHTTPBackend returns a handler that serves repositories by running git's own CGI program.
func gitHTTPBackend(t *testing.T) *cgi.Handler {
	out, err := exec.Command("git", "--exec-path").Output()
	path := filepath.Join(strings.TrimSpace(string(out)), "git-http-backend")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		testenv.Missing(t, "there is no git-http-backend", "install git")
	}
	return &cgi.Handler{Path: path}
}

// processesWith returns the arguments of all processes whose arguments contain text.
func processesWith(t *testing.T, text string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Error(err)
	}
	var found []string
	for _, file := range files {
		line, _ := os.ReadFile(file) // an error means that the process has ended
		if words := strings.ReplaceAll(string(line), "\x00", " "); strings.Contains(words, text) &&
			strings.Contains(words, "git") {
			found = append(found, words)
		}
	}
	return found
}
