package session_test

import (
	"os"
	"strings"
	"testing"

	"tofu/internal/addrs"
	"tofu/internal/session"
)

// TestDirs checks in which directories a session for another root module keeps its files.
func TestDirs(t *testing.T) {
	for _, test := range []struct{ environ, data string }{
		{"", "net/dev/.terraform"},
		{"TF_DATA_DIR=work", "net/dev/work"},
		{"TF_DATA_DIR=/data", "/data"},
	} {
		s := newSession(t, nil, test.environ)
		at := s.At("net/dev", s.Terminal)
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
	at := s.At("dev", s.Terminal)
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

// TestShared checks that the sessions for other root modules have the settings of the whole run.
func TestShared(t *testing.T) {
	s := newSession(t, nil)
	s.CheckReads = true
	at := s.At("net/dev", s.Terminal)
	if !at.CheckReads || at.CLI != s.CLI || at.Parser != s.Parser || at.Interrupts != s.Interrupts {
		t.Error("a setting is missing")
	}
}
