package cliconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"tofu/internal/addrs"
	"tofu/internal/atomicfile"
)

// Tokens reads and stores the API tokens of hosts. It is safe for concurrent use and asks the
// credentials helper at most once per host.
type Tokens struct {
	cfg *Config
	env map[string]string // tokens from environment variables, by host

	mu     sync.Mutex
	asked  map[string]string
	runner func(ctx context.Context, stdin []byte, verb, host string) ([]byte, error) // runs the helper
}

// NewTokens returns the tokens from the configuration's credentials and from the TF_TOKEN_…
// environment variables.
func NewTokens(cfg *Config) *Tokens {
	t := &Tokens{cfg: cfg, env: make(map[string]string), asked: make(map[string]string)}
	t.runner = t.runHelper
	for _, v := range os.Environ() {
		name, token, _ := strings.Cut(v, "=")
		encoded, ok := strings.CutPrefix(name, "TF_TOKEN_")
		if !ok {
			continue
		}
		// In variable names, a double underscore represents a hyphen, and a single one a dot.
		text := strings.ReplaceAll(strings.ReplaceAll(encoded, "__", "-"), "_", ".")
		if host, err := addrs.ParseHost(text); err == nil {
			t.env[host] = token // an empty token is kept too: it means that no token is needed, even if a file has one
		}
	}
	return t
}

// Token returns the token for a host from the environment, the configuration or the helper. It
// returns "" if none of them provides a token.
func (t *Tokens) Token(ctx context.Context, host string) (string, error) {
	if token, ok := t.env[host]; ok {
		return token, nil
	}
	if c, ok := t.cfg.Credentials[host]; ok {
		token, _ := c["token"].(string)
		return token, nil
	}
	if t.cfg.Helper == nil {
		return "", nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if token, ok := t.asked[host]; ok {
		return token, nil
	}
	out, err := t.runner(ctx, nil, "get", host)
	if err != nil {
		return "", err
	}
	var answer struct{ Token string }
	if err := json.Unmarshal(out, &answer); err != nil {
		return "", fmt.Errorf("the output of the credentials helper %q for %s is not a JSON object",
			t.cfg.Helper.Name, host)
	}
	t.asked[host] = answer.Token
	return answer.Token, nil
}

// Store stores a token for a host. It uses the helper, if there is one, unless the file that File
// returns already contains credentials for the host. Otherwise it uses that file, which only the
// user can read.
func (t *Tokens) Store(ctx context.Context, host, token string) error {
	creds := map[string]any{"token": token}
	if t.cfg.Helper == nil || t.inFile(host) {
		return t.editFile(func(all map[string]any) { all[host] = creds })
	}
	stdin, err := json.Marshal(creds)
	if err != nil {
		return err
	}
	_, err = t.runner(ctx, stdin, "store", host)
	return err
}

// ErrWritten reports that a host's credentials are in a file that the user maintains.
var ErrWritten = errors.New("the credentials are in a manually maintained file; remove them there")

// Forget removes the token of a host from where Store put it. It returns ErrWritten if the user
// maintains the file with the token.
func (t *Tokens) Forget(ctx context.Context, host string) error {
	if t.Written(host) {
		return ErrWritten
	}
	all, err := t.readFile()
	if err != nil {
		return err
	}
	switch hosts, _ := all["credentials"].(map[string]any); {
	case hosts[host] != nil:
		return t.editFile(func(all map[string]any) { delete(all, host) })
	case t.cfg.Helper != nil:
		_, err = t.runner(ctx, nil, "forget", host)
	}
	return err
}

// Written reports whether a host's credentials are in a file that the user maintains. Programs must
// not edit such files.
func (t *Tokens) Written(host string) bool {
	_, ok := t.cfg.Credentials[host]
	return ok && !t.inFile(host)
}

// File returns the path of the file in which Store keeps tokens if there is no credentials helper.
func (t *Tokens) File() string { return filepath.Join(t.cfg.Dir, "credentials.tfrc.json") }

func (t *Tokens) inFile(host string) bool {
	all, err := t.readFile()
	if err != nil {
		return false
	}
	hosts, _ := all["credentials"].(map[string]any)
	_, ok := hosts[host]
	return ok
}

func (t *Tokens) readFile() (map[string]any, error) {
	data, err := os.ReadFile(t.File())
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err // the error below names the file
	}
	all := make(map[string]any)
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err == nil && len(data) > 0 {
		err = json.Unmarshal(data, &all)
	}
	if _, ok := all["credentials"].(map[string]any); err == nil && !ok && all["credentials"] != nil {
		err = errors.New("\"credentials\" is not an object")
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w; fix or remove the file", t.File(), err)
	}
	if all == nil { // the file contains only null
		all = make(map[string]any)
	}
	return all, nil
}

// editFile changes the credentials in the file and keeps everything else in it.
func (t *Tokens) editFile(change func(map[string]any)) error {
	all, err := t.readFile()
	if err != nil {
		return err
	}
	hosts, ok := all["credentials"].(map[string]any)
	if !ok {
		hosts = make(map[string]any)
		all["credentials"] = hosts
	}
	change(hosts)
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(t.cfg.Dir, 0o755); err != nil {
		return err
	}
	// WriteNamed follows symbolic links, because users may keep the file elsewhere.
	if err := atomicfile.WriteNamed(t.File(), data, 0o600); err != nil {
		return fmt.Errorf("writing %s: %w", t.File(), err)
	}
	return nil
}

// helperDelay limits how long to wait for output after the helper has exited, because processes
// that it started may keep its output open.
const helperDelay = 5 * time.Second

// runHelper runs the helper program with a verb, such as "get", and a host, and returns its output.
func (t *Tokens) runHelper(ctx context.Context, stdin []byte, verb, host string) ([]byte, error) {
	h := t.cfg.Helper
	path := h.program(t.cfg)
	if path == "" {
		return nil, fmt.Errorf("the credentials helper terraform-credentials-%s isn't in %s", h.Name,
			filepath.Join(t.cfg.Dir, "plugins"))
	}
	cmd := exec.CommandContext(ctx, path, append(append([]string{}, h.Args...), verb, host)...)
	var out, complaint bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(stdin), &out, &complaint, helperDelay
	if err := cmd.Run(); err != nil {
		if text := strings.TrimSpace(complaint.String()); text != "" {
			err = errors.New(text)
		}
		return nil, fmt.Errorf("the credentials helper %q failed to %s credentials for %s: %w", h.Name, verb, host, err)
	}
	return out.Bytes(), nil
}

// program returns the path of the helper, or "" if it is in none of the plugin directories.
func (h *Helper) program(cfg *Config) string {
	for _, dir := range append([]string{filepath.Join(cfg.Dir, "plugins")}, cfg.ImpliedDirs...) {
		for _, suffix := range []string{"", ".exe"} {
			path := filepath.Join(dir, "terraform-credentials-"+h.Name+suffix)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path
			}
		}
	}
	return ""
}
