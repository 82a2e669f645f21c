package session_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/addrs"
	"tofu/internal/cliconfig"
	"tofu/internal/configschema"
	"tofu/internal/session"
	"tofu/internal/states"
	"tofu/internal/states/statefile"
	"tofu/internal/terminal"
	"tofu/internal/testenv"
	"tofu/internal/ui"
)

// newSession returns a session in a new working directory with the given files.
func newSession(t *testing.T, files map[string]string, environ ...string) *session.Session {
	t.Helper()
	t.Chdir(t.TempDir())
	for name, text := range files {
		testenv.WriteFile(t, name, text)
	}
	return again(environ...)
}

// again returns a new session in the current working directory.
func again(environ ...string) *session.Session {
	streams := &terminal.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}
	s := session.New(session.NewProcess(environ, &cliconfig.Config{}, io.Discard), "/somewhere", terminal.New(streams))
	s.Printer = ui.NewHuman(ui.Options{Out: io.Discard, Err: io.Discard})
	return s
}

// checkError reports a test failure unless err contains want. If want is empty, err must be nil.
func checkError(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("got the error %v; want %q", err, want)
	}
}

func TestWorkspace(t *testing.T) {
	for _, test := range []struct {
		file, environ string
		want          string // "" if an error is expected
	}{
		{"", "", "default"},
		{"prod\n", "", "prod"},
		{"  \n", "", "default"},
		{"prod", "TF_WORKSPACE=stage", "stage"},
		{"prod", "TF_WORKSPACE=", "prod"},
		{"", "TF_WORKSPACE=a b", ""},
		{"", "TF_WORKSPACE=../prod", ""},
	} {
		t.Run(test.file+test.environ, func(t *testing.T) {
			s := newSession(t, map[string]string{".terraform/environment": test.file}, test.environ)
			got, err := s.Workspace()
			if got != test.want {
				t.Errorf("got %q; want %q", got, test.want)
			}
			if test.want == "" {
				checkError(t, err, "TF_WORKSPACE")
			} else {
				checkError(t, err, "")
			}
		})
	}
	s := newSession(t, nil)
	if err := s.SelectWorkspace("prod"); err != nil {
		t.Fatal(err)
	}
	if got, err := again().Workspace(); got != "prod" || err != nil {
		t.Errorf("after selecting prod: %q, %v", got, err)
	}
}

func TestDataDir(t *testing.T) {
	s := newSession(t, nil, "TF_DATA_DIR=elsewhere")
	if err := s.SelectWorkspace("prod"); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile("elsewhere/environment"); err != nil || string(text) != "prod" {
		t.Errorf("the selection is %q, %v", text, err)
	}
}

func TestBackendRecord(t *testing.T) {
	s := newSession(t, nil)
	if r, err := s.ReadBackendRecord(); r != nil || err != nil {
		t.Errorf("without a file: %v, %v", r, err)
	}
	optional := func(types map[string]cty.Type) *configschema.Block {
		b := &configschema.Block{Attributes: make(map[string]*configschema.Attribute)}
		for name, ty := range types {
			b.Attributes[name] = &configschema.Attribute{Type: ty, Optional: true}
		}
		return b
	}
	schema := optional(map[string]cty.Type{"address": cty.String, "retries": cty.Number})
	complete := cty.ObjectVal(map[string]cty.Value{"address": cty.StringVal("https://x.example"),
		"retries": cty.NullVal(cty.Number)})
	record, err := session.NewBackendRecord("http", cty.EmptyObjectVal, complete)
	if err == nil {
		err = s.WriteBackendRecord(record)
	}
	if err != nil {
		t.Fatal(err)
	}
	stored, err := again().ReadBackendRecord()
	if err != nil || stored.Type != "http" || stored.Hash != session.BackendHash("http", cty.EmptyObjectVal) {
		t.Fatalf("got %+v, %v", stored, err)
	}
	if v, err := stored.Value(schema); err != nil || !v.RawEquals(complete) {
		t.Errorf("got the settings %#v, %v", v, err)
	}
	// Another version of the program may have other settings.
	other := optional(map[string]cty.Type{"retries": cty.Number, "added": cty.Bool})
	want := cty.ObjectVal(map[string]cty.Value{"retries": cty.NullVal(cty.Number), "added": cty.NullVal(cty.Bool)})
	if v, err := stored.Value(other); err != nil || !v.RawEquals(want) {
		t.Errorf("got the settings %#v, %v", v, err)
	}
	_, err = stored.Value(optional(map[string]cty.Type{"address": cty.Number}))
	checkError(t, err, "setting address")
	for range 2 { // removing the record twice is not an error
		if err := s.WriteBackendRecord(nil); err != nil {
			t.Error(err)
		}
	}
	for text, want := range map[string]string{
		`{"version": 3}`: "",
		`{"version": 3, "backend": {"type": ""}}`:      "",
		`{"version": 4, "resources": []}`:              "version 4 instead of 3",
		`{"version": 3, "backend": {"type": "http"}`:   "is damaged",
		`{"version": 3, "backend": {"hash": "a lot"}}`: "is damaged",
	} {
		testenv.WriteFile(t, ".terraform/terraform.tfstate", text)
		r, err := again().ReadBackendRecord()
		if r != nil {
			t.Errorf("%s: got %+v", text, r)
		}
		checkError(t, err, want)
	}
}

// TestCurrentBackend checks which changes require the directory to be initialized again.
func TestCurrentBackend(t *testing.T) {
	const none = ""
	in := func(backend string) string { return "terraform {\n" + backend + "\n}\n" }
	local := func(path string) string { return in(fmt.Sprintf(`backend "local" { path = %q }`, path)) }
	for name, test := range map[string]struct{ before, now, err string }{
		"no backend":       {none, none, ""},
		"unchanged":        {local("a"), local("a"), ""},
		"never set up":     {none, local("a"), "is not set up in this directory. Run"},
		"removed":          {local("a"), none, "no longer has a backend"},
		"other settings":   {local("a"), local("b"), "with other settings"},
		"other type":       {local("a"), in(`backend "http" { address = "https://x.example" }`), `has "http"`},
		"unknown type":     {local("a"), in(`backend "floppy" {}`), "floppy"},
		"unknown argument": {local("a"), in(`backend "local" { track = 1 }`), "main.tf:2"},
		"secret":           {local("a"), in(`backend "local" { path = sensitive("a") }`), "may not be secret"},
		"cloud":            {local("a"), in(`cloud {}`), "was set up"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, map[string]string{"main.tf": test.before})
			settings, hasBlock, err := s.DecodeBackend(t.Context(), load(t, s))
			if err != nil || hasBlock != (test.before != none) {
				t.Fatalf("block %v, %v", hasBlock, err)
			}
			if hasBlock {
				record, err := session.NewBackendRecord("local", settings.Block, settings.Config)
				if err == nil {
					err = s.WriteBackendRecord(record)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			testenv.WriteFile(t, "main.tf", test.now)
			s = again()
			got, err := s.CurrentBackend(t.Context(), load(t, s))
			checkError(t, err, test.err)
			if err == nil && !got.Config.RawEquals(settings.Config) {
				t.Errorf("got the settings %#v", got.Config)
			}
		})
	}
}

func load(t *testing.T, s *session.Session) *session.Config {
	t.Helper()
	cfg, err := s.LoadRootModule(t.Context(), session.Variables{})
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

const emptyState = `{"version": 4, "terraform_version": "1.12.6", "serial": 3, "lineage": "11111111-2222",
 "outputs": {"a": {"value": "x", "type": "string"}}, "resources": []}
`

// locked is a request for a state that the test changes.
var locked = session.StateRequest{Operation: session.OperationApply, Lock: session.LockOptions{Lock: true}}

// changed returns a state with one object.
func changed(t *testing.T) *states.State {
	t.Helper()
	addr, err := addrs.ParseInstanceText("lab_object.a")
	if err != nil {
		t.Fatal(err)
	}
	st := states.New()
	st.SetCurrent(addr, &states.Object{Attrs: []byte(`{}`)}, addrs.ProviderInstance{
		Config: addrs.AbsProviderConfig{Provider: addrs.Provider{Host: "example.com", Namespace: "a", Type: "lab"}}})
	return st
}

// TestOpenState checks which state is opened. Opening a state to change it must lock it, and
// opening it to read must not wait for a lock.
func TestOpenState(t *testing.T) {
	for name, test := range map[string]struct {
		file    string // file that contains the state
		environ string
		paths   session.StatePaths
	}{
		"default":   {file: "terraform.tfstate"},
		"workspace": {file: "terraform.tfstate.d/prod/terraform.tfstate", environ: "TF_WORKSPACE=prod"},
		"file":      {file: "other.tfstate", paths: session.StatePaths{State: "other.tfstate"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSession(t, map[string]string{test.file: emptyState, "main.tf": ""}, test.environ)
			req := locked
			req.Paths = test.paths
			open, err := s.OpenState(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if open.Snapshot.Serial != 3 || !open.Exists() || open.State().Output("a") == nil {
				t.Errorf("got %+v", open.Snapshot)
			}
			other := again(test.environ)
			_, err = other.OpenState(t.Context(), req)
			checkError(t, err, "lock")
			reading := req
			reading.Operation = ""
			if read, err := other.OpenState(t.Context(), reading); err != nil || read.Snapshot.Serial != 3 {
				t.Errorf("a reader got %+v, %v", read, err)
			}
			if err := errors.Join(open.Store(t.Context(), changed(t)), open.Close()); err != nil {
				t.Fatal(err)
			}
			checkState(t, test.file, 4, 1)
			open, err = other.OpenState(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(open.Store(t.Context(), open.State()), open.Close()); err != nil {
				t.Fatal(err)
			}
			checkState(t, test.file, 4, 1) // the state file must be unchanged
		})
	}
}

// checkState checks a state file's serial and number of resources.
func checkState(t *testing.T, name string, serial uint64, resources int) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	file, err := statefile.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if got := len(file.State.Sorted()); file.Serial != serial || got != resources {
		t.Errorf("%s has serial %d and %d resources; want %d and %d", name, file.Serial, got, serial, resources)
	}
}

// TestTimedBackup checks that a state command saves the previous state in a separate file. If that
// fails, the command must change nothing.
func TestTimedBackup(t *testing.T) {
	s := newSession(t, map[string]string{"main.tf": "", "terraform.tfstate": emptyState})
	req := locked
	req.TimedBackup = true
	for range 2 {
		open, err := s.OpenState(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		next := changed(t)
		if len(open.State().Sorted()) > 0 {
			next = states.New()
		}
		if err := errors.Join(open.Store(t.Context(), next), open.Close()); err != nil {
			t.Fatal(err)
		}
	}
	backups, err := filepath.Glob("terraform.tfstate.*.backup")
	if err != nil || len(backups) != 2 {
		t.Fatalf("the backups are %v, %v", backups, err)
	}
	checkState(t, backups[0], 3, 0)
	checkState(t, backups[1], 4, 1)

	req.Paths.Backup = "main.tf/backup" // main.tf is no directory
	open, err := s.OpenState(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	if open.Store(t.Context(), changed(t)) == nil {
		t.Error("the state was changed without a backup")
	}
	if err := open.Close(); err != nil {
		t.Error(err)
	}
	checkState(t, "terraform.tfstate", 5, 0)

	req.Paths.Backup = "-"
	if open, err = s.OpenState(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(open.Store(t.Context(), changed(t)), open.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("-"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a backup, although the option turns it off: %v", err)
	}
	if again, err := filepath.Glob("terraform.tfstate.*.backup"); err != nil || len(again) != len(backups) {
		t.Errorf("a backup, although the option turns it off: %v, %v", again, err)
	}
}

func TestPersistInterval(t *testing.T) {
	for value, valid := range map[string]bool{"": true, "0": true, "60": true, "-1": false, "1m": false} {
		s := newSession(t, map[string]string{"main.tf": ""}, "TF_STATE_PERSIST_INTERVAL="+value)
		open, err := s.OpenState(t.Context(), session.StateRequest{})
		if valid {
			checkError(t, err, "")
		} else {
			checkError(t, err, "TF_STATE_PERSIST_INTERVAL")
		}
		if err == nil {
			s.Release(open)
		}
	}
}

// TestLockTimeout checks that a session waits for a lock that another session holds, until its
// timeout.
func TestLockTimeout(t *testing.T) {
	s := newSession(t, map[string]string{"main.tf": ""})
	first, err := s.OpenState(t.Context(), locked)
	if err != nil {
		t.Fatal(err)
	}
	req := locked
	req.Lock.Timeout = time.Minute
	opened := make(chan error)
	go func() {
		second, err := again().OpenState(context.Background(), req)
		if err == nil {
			err = second.Close()
		}
		opened <- err
	}()
	select {
	case err := <-opened:
		t.Fatalf("the second session didn't wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

const variables = `
variable "given" {}
variable "typed" {
  type = number
}
variable "defaulted" {
  default = 1
}
`

// TestVariables checks the treatment of required variables without a value.
func TestVariables(t *testing.T) {
	s := newSession(t, map[string]string{"main.tf": variables, "terraform.tfvars": `given = "file"`}, "TF_VAR_typed=3")
	cfg := load(t, s)
	values, err := cfg.Variables(t.Context(), s, session.NeedValues)
	if err != nil || len(values) != 2 || values["given"].Value != cty.StringVal("file") ||
		!values["typed"].Value.RawEquals(cty.StringVal("3")) {
		t.Errorf("got %#v, %v", values, err)
	}
	s = newSession(t, map[string]string{"main.tf": variables}, "TF_VAR_given=x")
	cfg = load(t, s)
	values, err = cfg.Variables(t.Context(), s, session.NeedValues)
	checkError(t, err, "No value for required variable")
	if values["given"].Value != cty.StringVal("x") {
		t.Errorf("got %#v in spite of the error", values)
	}
	values, err = cfg.Variables(t.Context(), s, session.AllowUnknown)
	if err != nil || !values["typed"].Value.RawEquals(cty.UnknownVal(cty.Number)) {
		t.Errorf("got %#v, %v", values, err)
	}
}
