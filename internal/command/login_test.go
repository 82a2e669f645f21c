package command

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tofu/internal/cliconfig"
	"tofu/internal/terminal"
)

// TestLogin performs a whole login: the user grants access on the page of the host, the program
// receives the code and exchanges it for a token, which it stores. Logout removes the token.
func TestLogin(t *testing.T) {
	challenges := make(map[string]bool)
	mux := http.NewServeMux()
	mux.HandleFunc("/authz", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		challenges[q.Get("code_challenge")] = q.Get("code_challenge_method") == "S256" && q.Get("client_id") == "cli"
		back, _ := url.Parse(q.Get("redirect_uri"))
		back.RawQuery = url.Values{"code": {"the-code"}, "state": {q.Get("state")}}.Encode()
		http.Redirect(w, r, back.String(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("code") != "the-code" || len(r.FormValue("code_verifier")) < 43 {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": "s3cret"})
	})
	server := httptest.NewServer(mux)
	defer server.Close()

	dir := t.TempDir()
	out, printed := io.Pipe()
	app := NewApp(&terminal.Streams{In: strings.NewReader("yes\n"), Out: printed, Err: io.Discard},
		[]string{"BROWSER=true", "NO_COLOR=1"})
	app.CLI = &cliconfig.Config{
		Dir: dir, RegistryTimeout: 10 * time.Second,
		Hosts: map[string]cliconfig.Host{"example.com": {Services: map[string]any{"login.v1": map[string]any{
			"client": "cli", "authz": server.URL + "/authz", "token": server.URL + "/token",
		}}}},
	}
	visited := make(chan error, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if page := strings.TrimSpace(lines.Text()); strings.HasPrefix(page, server.URL) {
				go func() {
					resp, err := http.Get(page)
					if err == nil {
						err = resp.Body.Close()
					}
					visited <- err
				}()
			}
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := runLogin(ctx, app, nil, []string{"Example.com"}); err != nil {
		t.Fatal(err)
	}
	if err := <-visited; err != nil {
		t.Error(err)
	}
	for challenge, ok := range challenges {
		if !ok || challenge == "" {
			t.Error("the request for the code was not as it should be")
		}
	}
	kept := filepath.Join(dir, "credentials.tfrc.json")
	if text, err := os.ReadFile(kept); err != nil || !strings.Contains(string(text), "s3cret") ||
		!strings.Contains(string(text), "example.com") {
		t.Errorf("kept %s, %v", text, err)
	}
	if err := cmdLogout.New(newOptions("logout"))(ctx, app, []string{"example.com"}); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(kept); strings.Contains(string(text), "s3cret") {
		t.Errorf("the token is still there: %s", text)
	}
}
