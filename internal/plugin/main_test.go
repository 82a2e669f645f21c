package plugin

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/configschema"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

const providerModule = "../../testing/providers"

var built = struct {
	sync.Mutex
	dir   string
	paths map[string]string
}{paths: map[string]string{}}

func TestMain(m *testing.M) {
	if os.Getenv(serveProvisionerEnv) != "" {
		serveProvisioner()
		return
	}
	if path := os.Getenv(holdPluginEnv); path != "" {
		holdPlugin(path)
		return
	}
	dir, err := os.MkdirTemp("", "plugins")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	built.dir = dir
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// holdPluginEnv is an environment variable that contains the name of a test provider. It makes the
// test binary start this provider and wait until it is killed.
const holdPluginEnv = "TOFU_TEST_HOLD_PLUGIN"

func holdPlugin(path string) {
	p, err := Start(context.Background(), Launch{Provider: address("files"), Exec: path})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.(*client).process.client.ID())
	time.Sleep(time.Minute)
}

// executable returns the path of a test provider, which it builds once: files or synth (protocol
// 6), files5 or notes (protocol 5).
func executable(t testing.TB, name string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if path := built.paths[name]; path != "" {
		return path
	}
	command := "./cmd/terraform-provider-" + map[string]string{"files": "files", "files5": "files",
		"notes": "notes", "synth": "synth"}[name]
	if _, err := os.Stat(filepath.Join(providerModule, command)); err != nil {
		t.Skipf("the test providers are not there: %v", err)
	}
	path := filepath.Join(built.dir, "terraform-provider-"+name)
	cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags", "-X main.name="+name+
		" -X main.version=1.0.0", "-o", path, command)
	cmd.Dir = providerModule
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	built.paths[name] = path
	return path
}

func address(name string) addrs.Provider {
	return addrs.Provider{Host: "example.com", Namespace: "tofu", Type: name}
}

// launch returns the Launch for a test provider. env lists additional environment variables.
func launch(t testing.TB, name string, env ...string) Launch {
	t.Helper()
	return Launch{Provider: address(name), Exec: executable(t, name), Env: append(os.Environ(), env...)}
}

// start starts a test provider that works in a new directory.
func start(t testing.TB, name string, env ...string) (*client, string) {
	t.Helper()
	dir := t.TempDir()
	p, err := Start(context.Background(),
		launch(t, name, append([]string{"FILES_ROOT=" + dir, "NOTES_FOLDER=" + dir}, env...)...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.(*client), dir
}

// configured is like start, but also configures the provider with an empty configuration.
func configured(t testing.TB, name string, env ...string) (*client, string) {
	t.Helper()
	p, dir := start(t, name, env...)
	schema, diags := p.Schema(t.Context())
	noErrors(t, diags)
	config, err := schema.Provider.CoerceValue(cty.EmptyObjectVal)
	if err != nil {
		t.Fatal(err)
	}
	noErrors(t, p.ValidateProviderConfig(t.Context(), config))
	noErrors(t, p.Configure(t.Context(), config))
	return p, dir
}

func noErrors(t testing.TB, diags tfdiags.Diagnostics) {
	t.Helper()
	if err := diags.Err(); err != nil {
		t.Fatal(err)
	}
}

// object returns an object that conforms to the schema and has the given attributes. All other
// attributes are null.
func object(t testing.TB, block *configschema.Block, attrs map[string]cty.Value) cty.Value {
	t.Helper()
	v, err := block.CoerceValue(cty.ObjectVal(attrs))
	if err != nil {
		t.Fatal(tfdiags.FormatError(err))
	}
	return v
}

func resourceType(t testing.TB, p providers.Interface, typ string) *providers.ResourceSchema {
	t.Helper()
	schema, diags := p.Schema(t.Context())
	noErrors(t, diags)
	rs := schema.Resources.Type(typ)
	if rs == nil || rs.Invalid != nil {
		t.Fatalf("no usable %s: %+v", typ, rs)
	}
	return rs
}

// wantError fails the test unless the error contains all words.
func wantError(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("no %q in: %v", word, err)
		}
	}
}

// within fails the test if f takes longer than the limit. what describes f in the failure message.
func within(t testing.TB, limit time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s takes longer than %s", what, limit)
	}
}
