package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// built is a release for linux/amd64, which the tests share.
var built struct{ dir, source string }

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "release-test-")
	status := 1
	if err == nil {
		built.dir = filepath.Join(dir, "dist")
		built.source = filepath.Join(dir, "source")
		if err = build("..", built.source, built.dir); err == nil {
			status = m.Run()
		}
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
	}
	os.RemoveAll(dir)
	os.Exit(status)
}

// build builds a release of the last commit in a work tree, from a clone of it in the directory source.
func build(tree, source, out string) error {
	if err := command(nil, "git", "clone", "--quiet", tree, source); err != nil {
		return err
	}
	return run(source, out, []string{"linux/amd64"})
}

func name(t *testing.T, suffix string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(built.dir, "v*", "tofu_*_"+suffix))
	if err != nil || len(found) != 1 {
		t.Fatalf("%d files end in %s, %v", len(found), suffix, err)
	}
	return found[0]
}

// TestReproducible builds the same commit in a directory of another name.
func TestReproducible(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "other", "dist")
	if err := build(built.source, filepath.Join(dir, "a directory of another name"), out); err != nil {
		t.Fatal(err)
	}
	compared := 0
	err := filepath.WalkDir(built.dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rest, _ := filepath.Rel(built.dir, path)
		a, errA := sha256Of(path)
		b, errB := sha256Of(filepath.Join(out, rest))
		if a != b {
			t.Errorf("%s differs", rest)
		}
		compared++
		return errors.Join(errA, errB)
	})
	if err != nil || compared < 8 {
		t.Errorf("%d files compared, %v", compared, err)
	}
}

// TestSums checks the files against the checksums, with the usual tool, and that it notices a change.
func TestSums(t *testing.T) {
	sums := name(t, "SHA256SUMS")
	check := func(dir string) error {
		cmd := exec.Command("sha256sum", "--check", "--strict", filepath.Base(sums))
		cmd.Dir = dir
		return cmd.Run()
	}
	if err := check(filepath.Dir(sums)); err != nil {
		t.Error(err)
	}
	changed := t.TempDir()
	if err := os.CopyFS(changed, os.DirFS(filepath.Dir(sums))); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(filepath.Join(changed, filepath.Base(name(t, "amd64.deb"))), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = file.WriteString("x")
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	if check(changed) == nil {
		t.Error("a changed package has the same checksum")
	}
}

func TestArchive(t *testing.T) {
	file, err := os.Open(name(t, "linux_amd64.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(unpacked); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err := errors.Join(err, os.WriteFile(filepath.Join(dir, h.Name), data, h.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	}
	licenses, err := os.ReadFile(filepath.Join(dir, "LICENSES-OF-DEPENDENCIES.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"The Go standard library", "github.com/hashicorp/hcl/v2 v", "google.golang.org/grpc v"} {
		if !strings.Contains(string(licenses), want) {
			t.Errorf("the licenses lack %q", want)
		}
	}
	checkVersion(t, filepath.Join(dir, "tofu"))
}

// checkVersion runs a program and checks its version and commit.
func checkVersion(t *testing.T, program string) {
	t.Helper()
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("the programs are for linux/amd64")
	}
	cmd := exec.Command(program, "version", "-json")
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Engine struct{ Version, Commit string }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	r := &release{source: built.source}
	commit, err := r.output("git", "rev-parse", "HEAD")
	if err != nil || doc.Engine.Commit != commit || !strings.Contains(name(t, "SHA256SUMS"), "tofu_"+doc.Engine.Version+"_") {
		t.Errorf("the program says it is %+v, and the commit is %s, %v", doc.Engine, commit, err)
	}
}

// TestDebianPackage installs the package into a directory, uses what it contains and removes it.
func TestDebianPackage(t *testing.T) {
	if _, err := exec.LookPath("dpkg"); err != nil || os.Getuid() != 0 {
		t.Skip("dpkg isn't there, or can't install, because this isn't root")
	}
	root := t.TempDir()
	for _, dir := range []string{"var/lib/dpkg/updates", "var/lib/dpkg/info"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	dpkg := func(args ...string) {
		t.Helper()
		if err := command(nil, "dpkg", append([]string{"--root=" + root, "--log=/dev/null"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	dpkg("--install", name(t, "amd64.deb"))
	for _, path := range []string{"usr/share/man/man1/tofu.1.gz", "usr/share/man/man1/tofu-state-mv.1.gz",
		"usr/share/doc/tofu-engine/copyright", "usr/share/doc/tofu-engine/LICENSES-OF-DEPENDENCIES.txt",
		"usr/share/bash-completion/completions/tofu", "usr/share/zsh/vendor-completions/_tofu",
		"usr/share/fish/vendor_completions.d/tofu.fish"} {
		if info, err := os.Stat(filepath.Join(root, path)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", path, err)
		}
	}
	checkVersion(t, filepath.Join(root, "usr/bin/tofu"))
	use(t, filepath.Join(root, "usr/bin/tofu"))
	dpkg("--purge", packageName)
	if _, err := os.Stat(filepath.Join(root, "usr/bin/tofu")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program is still there: %v", err)
	}
}

// TestRPM installs the package into a directory, verifies and uses what it contains, and removes it.
func TestRPM(t *testing.T) {
	if _, err := exec.LookPath("rpm"); err != nil || os.Getuid() != 0 {
		t.Skip("rpm isn't there, or can't install, because this isn't root")
	}
	root := t.TempDir()
	rpm := func(args ...string) {
		t.Helper()
		if err := command(nil, "rpm", append([]string{"--root=" + root}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	rpm("--initdb")
	rpm("--install", name(t, "amd64.rpm"))
	rpm("--verify", packageName)
	checkVersion(t, filepath.Join(root, "usr/bin/tofu"))
	use(t, filepath.Join(root, "usr/bin/tofu"))
	rpm("--erase", packageName)
	if _, err := os.Stat(filepath.Join(root, "usr/bin/tofu")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program is still there: %v", err)
	}
}

// TestAPK checks the format of the package of Alpine: a stream with .PKGINFO, and one with the files,
// of which the first one has the hash. There is no program for it elsewhere.
func TestAPK(t *testing.T) {
	text, err := os.ReadFile(name(t, "amd64.apk"))
	if err != nil {
		t.Fatal(err)
	}
	rest := bytes.NewReader(text)
	begin := func() *tar.Reader {
		packed, err := gzip.NewReader(rest) // reads no further than its stream, because rest is an io.ByteReader
		if err != nil {
			t.Fatal(err)
		}
		packed.Multistream(false)
		all, err := io.ReadAll(packed)
		if err != nil {
			t.Fatal(err)
		}
		return tar.NewReader(bytes.NewReader(all))
	}
	control := begin()
	header, err := control.Next()
	if err != nil || header.Name != ".PKGINFO" {
		t.Fatal(header, err)
	}
	info, _ := io.ReadAll(control)
	data := text[len(text)-rest.Len():]
	for _, line := range []string{"pkgname = tofu-engine\n", "arch = x86_64\n", "depend = !tofu\n",
		fmt.Sprintf("datahash = %x\n", sha256.Sum256(data))} {
		if !strings.Contains(string(info), line) {
			t.Errorf("no line %q in\n%s", line, info)
		}
	}
	for line := range strings.Lines(string(info)) {
		if !strings.Contains(line, " = ") && line != "\n" && line[0] != '#' {
			t.Errorf("a line without a key: %q", line)
		}
	}
	files, program := begin(), false
	for {
		header, err := files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(files)
		if sum := header.PAXRecords["APK-TOOLS.checksum.SHA1"]; header.Typeflag == tar.TypeReg && sum != fmt.Sprintf("%x", sha1.Sum(content)) {
			t.Errorf("%s has the checksum %q", header.Name, sum)
		}
		program = program || header.Name == "usr/bin/tofu" && header.Mode&0o111 == 0o111
	}
	if !program || rest.Len() != 0 {
		t.Errorf("the program is there: %t; %d bytes are left", program, rest.Len())
	}
}

// use creates and destroys an object.
func use(t *testing.T, program string) {
	t.Helper()
	dir := t.TempDir()
	err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(`resource "terraform_data" "a" {}`), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"init", "apply -auto-approve", "plan -detailed-exitcode", "destroy -auto-approve"} {
		cmd := exec.Command(program, strings.Fields(args)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", args, err, out)
		}
	}
}

// TestDocuments checks that the documents name the modules and the files.
func TestDocuments(t *testing.T) {
	var sbom bom
	read(t, "sbom.cdx.json", &sbom)
	if len(sbom.Components) < 30 || sbom.Format != "CycloneDX" {
		t.Errorf("the list of modules has %d", len(sbom.Components))
	}
	var statement struct {
		Subject []struct {
			Name   string
			Digest map[string]string
		}
	}
	read(t, "provenance.json", &statement)
	if len(statement.Subject) != 6 {
		t.Errorf("the statement is about %d files", len(statement.Subject))
	}
	for _, s := range statement.Subject {
		sum, err := sha256Of(filepath.Join(filepath.Dir(name(t, "SHA256SUMS")), s.Name))
		if err != nil || sum != s.Digest["sha256"] {
			t.Errorf("%s: %s, %v", s.Name, sum, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(built.dir, "api.json"))
	if err != nil || !strings.Contains(string(text), "_linux_amd64.zip\"") {
		t.Errorf("the list of versions is %s, %v", text, err)
	}
}

func read(t *testing.T, suffix string, doc any) {
	t.Helper()
	text, err := os.ReadFile(name(t, suffix))
	if err == nil {
		err = json.Unmarshal(text, doc)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestSignature signs with a new key and checks the signature with gpg.
func TestSignature(t *testing.T) {
	if _, err := exec.LookPath("gpg"); err != nil {
		t.Skip("gpg isn't installed")
	}
	home, err := os.MkdirTemp("", "gpg-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(home)
	defer func() { _ = command(nil, "gpgconf", "--homedir", home, "--kill", "all") }()
	err = command(nil, "gpg", "--homedir", home, "--batch", "--passphrase", "", "--quick-gen-key", "test", "ed25519", "sign")
	if err != nil {
		t.Fatal(err)
	}
	key, err := exec.Command("gpg", "--homedir", home, "--batch", "--armor", "--export-secret-keys", "test").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("RELEASE_GPG_KEY", string(key))
	path := filepath.Join(t.TempDir(), "SHA256SUMS")
	if err := os.WriteFile(path, []byte("sums\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := sign(path); err != nil {
		t.Fatal(err)
	}
	if err := command(nil, "gpg", "--homedir", home, "--verify", path+".gpgsig", path); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte("other sums\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if command(nil, "gpg", "--homedir", home, "--verify", path+".gpgsig", path) == nil {
		t.Error("the signature is valid for another text")
	}
	t.Setenv("RELEASE_GPG_KEY", "no key")
	if err := sign(path); err == nil || !strings.Contains(err.Error(), "RELEASE_GPG_KEY") {
		t.Errorf("signing with a key that is none: %v", err)
	}
}

// TestCosign does the same with cosign.
func TestCosign(t *testing.T) {
	if _, err := exec.LookPath("cosign"); err != nil {
		t.Skip("cosign isn't installed")
	}
	dir := t.TempDir()
	key, path := filepath.Join(dir, "k"), filepath.Join(dir, "SHA256SUMS")
	t.Setenv("COSIGN_PASSWORD", "for the test")
	if err := command(nil, "cosign", "generate-key-pair", "--output-key-prefix", key); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RELEASE_COSIGN_KEY", key+".key")
	verify := func(text string) error {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return command(nil, "cosign", "verify-blob", "--key", key+".pub", "--new-bundle-format=false", "--insecure-ignore-tlog",
			"--signature", path+".sig", path)
	}
	if err := os.WriteFile(path, []byte("sums\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := sign(path); err != nil {
		t.Fatal(err)
	}
	if err := verify("sums\n"); err != nil {
		t.Error(err)
	}
	if verify("other sums\n") == nil {
		t.Error("the signature is valid for another text")
	}
	t.Setenv("RELEASE_COSIGN_KEY", filepath.Join(dir, "missing.key"))
	if err := sign(path); err == nil || !strings.Contains(err.Error(), "RELEASE_COSIGN_KEY") {
		t.Errorf("signing with a missing key: %v", err)
	}
}
