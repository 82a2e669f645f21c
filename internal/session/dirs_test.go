package session_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/session"
	"tofu/internal/timings"
)

// TestDirs checks in which directories a session for another root module keeps its files.
func TestDirs(t *testing.T) {
	for _, test := range []struct{ environ, data string }{
		{"", "net/dev/.terraform"},
		{"TF_DATA_DIR=work", "net/dev/work"},
		{"TF_DATA_DIR=/data", "/data"},
	} {
		s := newSession(t, nil, test.environ)
		at := s.At(session.RootModule{Dir: "net/dev"}, s.Terminal)
		for _, file := range []struct{ what, got, want string }{
			{"data directory", at.DataDir, test.data},
			{"lock file", at.LockFile(), "net/dev/.terraform.lock.hcl"},
			{"file of pinned modules", at.ModuleLockFile(), "net/dev/.terraform.modules.lock.hcl"},
			{"modules", at.ModulesDir(), test.data + "/modules"},
			{"providers", at.ProvidersDir(), test.data + "/providers"},
		} {
			if file.got != file.want {
				t.Errorf("%s: the %s is %s, want %s", test.environ, file.what, file.got, file.want)
			}
		}
		if s.RootDir != "." || s.Base != "" {
			t.Errorf("%s: the first session is now in %q, %q", test.environ, s.RootDir, s.Base)
		}
	}
}

// TestSelectWorkspace checks that each root module has its own selected workspace.
func TestSelectWorkspace(t *testing.T) {
	s := newSession(t, nil)
	at := s.At(session.RootModule{Dir: "dev"}, s.Terminal)
	if err := at.SelectWorkspace("blue"); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[*session.Session]string{s: "default", at: "blue"} {
		if got, err := at.Workspace(); got != want || err != nil {
			t.Errorf("in %q, the workspace is %q, %v; want %q", at.Base, got, err, want)
		}
	}
	if text, err := os.ReadFile("dev/.terraform/environment"); string(text) != "blue" || err != nil {
		t.Errorf("the file has %q, %v", text, err)
	}
}

func TestOverrideWarnings(t *testing.T) {
	if list := session.OverrideWarnings(nil); len(list) > 0 {
		t.Errorf("got %v without overrides", list)
	}
	list := session.OverrideWarnings(map[addrs.Provider]string{
		{Host: addrs.DefaultHost, Namespace: "acme", Type: "tool"}: "/dev/tool",
		{Host: "example.com", Namespace: "acme", Type: "box"}:      "/dev/box",
	})
	want := ":\n - example.com/acme/box in /dev/box\n - acme/tool in /dev/tool\n"
	if len(list) != 1 || !strings.Contains(list[0].Detail, want) {
		t.Errorf("got %v, want a warning with %q", list, want)
	}
}

// TestAt checks what the session for another root module shares with the first one.
func TestAt(t *testing.T) {
	s := newSession(t, nil, "TF_DATA_DIR=work", "TF_WORKSPACE=blue")
	defer s.ShareClients()()
	times := timings.New()
	m := session.RootModule{Dir: "net/dev", Own: "roots/dev", Timings: times,
		Preset: session.Preset{Workspace: "green", From: "roots.tofu.hcl"}}
	at := s.At(m, s.Terminal)
	if at.Process != s.Process || at.Clients != s.Clients || at.Timings != times {
		t.Error("a part of the process is missing")
	}
	if at.DataDir != "net/dev/work/roots/dev" || at.WorkDir != s.WorkDir+"/net/dev" || at.InitCommand != "tofu roots init" {
		t.Errorf("the directories are %+v", at.Dirs)
	}
	for of, want := range map[*session.Session]string{s: "blue", at: "green"} {
		if got, err := of.Workspace(); got != want || err != nil {
			t.Errorf("the workspace is %q, %v; want %q", got, err, want)
		}
	}
	if again := at.At(session.RootModule{Dir: "x"}, s.Terminal); again.Preset.Workspace != "" || again.Timings != nil {
		t.Errorf("another root module has the settings %+v", again.Preset)
	}
}

// TestUpdateDataFile checks that no update is lost if several runs update a file at once.
func TestUpdateDataFile(t *testing.T) {
	dirs := &session.Dirs{DataDir: filepath.Join(t.TempDir(), "missing")}
	var wg sync.WaitGroup
	for i := range 30 {
		wg.Go(func() {
			err := dirs.UpdateDataFile(t.Context(), "f", func(previous []byte) ([]byte, error) {
				return fmt.Appendf(previous, "<%d>", i), nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	text, err := os.ReadFile(filepath.Join(dirs.DataDir, "f"))
	for i := range 30 {
		if !strings.Contains(string(text), fmt.Sprintf("<%d>", i)) {
			t.Errorf("update %d is lost: %q, %v", i, text, err)
		}
	}
}
