package depsfile

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const modulesSample = modulesHeader + `
module "git::https://example.com/net.git?ref=main" {
  revision = "93ab0b3a1d1e6a2b8f3a8f2f4c8e0f6d2b1a0c9e"
  hash     = "h1:ZVIpgTHysVGZSVy8vVFqChHNT7UEf+FqcdrnznB0jaY="
}

module "https://example.com/a.zip" {
  hash = "h1:ZVIpgTHysVGZSVy8vVFqChHNT7UEf+FqcdrnznB0jaY="
}

module "registry.opentofu.org/acme/net/lab" {
  version  = "2.0.0"
  revision = "v2.0.0"
  hash     = "h1:ZVIpgTHysVGZSVy8vVFqChHNT7UEf+FqcdrnznB0jaY="
}

module "registry.opentofu.org/acme/net/lab" {
  version = "10.0.0"
  hash    = "h1:ZVIpgTHysVGZSVy8vVFqChHNT7UEf+FqcdrnznB0jaY="
}
`

func TestModulesParseAndWrite(t *testing.T) {
	locks, err := parseModules([]byte(modulesSample), "x")
	if err != nil || len(locks) != 4 {
		t.Fatal(locks, err)
	}
	slices.Reverse(locks)
	if got := string(locks.Bytes()); got != modulesSample {
		t.Errorf("written:\n%s", got)
	}
	path := filepath.Join(t.TempDir(), ModulesFileName)
	if _, pinned, err := LoadModules(path); pinned || err != nil {
		t.Error("a file that isn't there pins modules", err)
	}
	if err := locks.Save(path); err != nil {
		t.Fatal(err)
	}
	if again, pinned, err := LoadModules(path); !pinned || err != nil || !slices.Equal(again, locks.Sorted()) {
		t.Errorf("read again: %v %v", again, err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, pinned, err := LoadModules(path); !pinned || err != nil {
		t.Error("an empty file begins to pin modules", err)
	}
}

func TestModulesParseErrors(t *testing.T) {
	const hash = `hash = "h1:a"`
	for src, want := range map[string]string{
		`module "a" {`:    "brace",
		`x = 1`:           "not expected here",
		`module {}`:       "as label",
		`provider "a" {}`: "as label",
		`module "a" {}`:   "has no \"hash\"",
		"module \"a\" {\n " + hash + "\n x = \"1\"\n}":                       "not expected here",
		"module \"a\" {\n " + hash + "\n b {}\n}":                            "not expected here",
		"module \"a\" {\n " + hash + "\n version = \"1.2\"\n}":               "not a complete version",
		"module \"a\" {\n " + hash + "\n version = 1\n}":                     "string in quotes",
		"module \"a\" {\n " + hash + "\n revision = \"--exec\"\n}":           "not a valid revision",
		"module \"a\" {\n hash = \"zh:00\"\n}":                               "\"h1:\" hash",
		"module \"a\" {\n " + hash + "\n}\nmodule \"a\" {\n " + hash + "\n}": "pinned twice",
	} {
		if _, err := parseModules([]byte(src), "x"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\ndoesn't fail with %q: %v", src, want, err)
		}
	}
}

// FuzzParseModules checks that the content of every valid file can be written and read again
// unchanged.
func FuzzParseModules(f *testing.F) {
	f.Add(modulesSample)
	f.Fuzz(func(t *testing.T, src string) {
		locks, err := parseModules([]byte(src), "x")
		if err != nil || !utf8.ValidString(src) {
			return
		}
		again, err := parseModules(locks.Bytes(), "x")
		if err != nil || !slices.Equal(again, locks) {
			t.Fatalf("%q\nwritten as\n%s\n%v", src, locks.Bytes(), err)
		}
	})
}
