package oci

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oras.land/oras-go/v2/registry/remote/auth"

	"tofu/internal/cliconfig"
	"tofu/internal/registry"
)

// TestFind checks that the most specific credentials from all sources are used.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("docker-credential-box", "#!/bin/sh\nread server\ncase $server in\nnone.example) echo 'credentials not "+
		"found in native keychain'; exit 1;;\nbad.example) echo broken; exit 1;;\nesac\necho '{\"Username\": "+
		"\"<token>\", \"Secret\": \"'$server'\"}'\n")
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
	first := write("first.json", `{"auths": {"a.example": {"auth": "Zmlyc3Q6cA=="}, "a.example/deep": {"auth": `+
		`"ZGVlcDpw"}, "https://old.example/v1/": {"username": "old", "password": "p"}}}`)
	second := write("second.json", `{"auths": {"a.example": {"auth": "c2Vjb25kOnA="}, "b.example": {"identitytoken": `+
		`"id"}}, "credHelpers": {"helped.example": "box"}, "credsStore": "box"}`)
	cfg := &cliconfig.Config{
		OCICredentials: []cliconfig.OCICredentials{{Registry: "a.example", Path: "deep", Username: "explicit",
			Password: "p"}, {Registry: "c.example", AccessToken: "at", RefreshToken: "rt"}},
		OCIDefault: cliconfig.OCIDefault{Discover: true, Files: []string{first, second}},
	}
	c := New(registry.New(cfg)).credentials
	for where, want := range map[[2]string]auth.Credential{
		{"a.example", "x"}:              {Username: "first", Password: "p"},
		{"a.example", "deeper"}:         {Username: "first", Password: "p"},
		{"a.example", "deep/y"}:         {Username: "explicit", Password: "p"},
		{"b.example", "x"}:              {RefreshToken: "id"},
		{"c.example", "x"}:              {AccessToken: "at", RefreshToken: "rt"},
		{"old.example", "x"}:            {Username: "old", Password: "p"},
		{"helped.example", "x"}:         {RefreshToken: "helped.example"},
		{"anything.example", "x"}:       {RefreshToken: "anything.example"},
		{"none.example", "x"}:           {},
		{"a.example", "deep"}:           {Username: "explicit", Password: "p"},
		{"sub.a.example", "deep/thing"}: {RefreshToken: "sub.a.example"},
	} {
		got, err := c.find(context.Background(), where[0], where[1])
		if err != nil || got != want {
			t.Errorf("%v: %+v, %v", where, got, err)
		}
	}
	if _, err := c.find(context.Background(), "bad.example", "x"); err == nil {
		t.Error("a helper that fails is ignored")
	}
	plain := write("plain.json", `{"auths": {"p.example": {"auth": "name:password"}}}`)
	cfg.OCIDefault.Files = []string{plain}
	_, err := New(registry.New(cfg)).credentials.find(context.Background(), "p.example", "x")
	if err == nil || !strings.Contains(err.Error(), plain) || !strings.Contains(err.Error(), `"p.example"`) {
		t.Errorf("the error for an entry that isn't in Base64 is %v", err)
	}
	cfg.OCIDefault.Files = []string{filepath.Join(dir, "none.json")}
	if _, err := New(registry.New(cfg)).credentials.find(context.Background(), "b.example", "x"); err == nil {
		t.Error("a file that is named and isn't there is ignored")
	}
	cfg.OCIDefault.Discover = false
	if got, err := New(registry.New(cfg)).credentials.find(context.Background(), "b.example", "x"); err !=
		nil || got != auth.EmptyCredential {
		t.Errorf("%+v, %v", got, err)
	}
}
