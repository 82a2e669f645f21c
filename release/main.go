// Command release builds what a release consists of, from a work tree of this repository, into
// DIR/vVERSION:
//
//	tofu_VERSION_OS_ARCH.zip, .tar.gz    the program, its license and those of its dependencies
//	tofu_VERSION_ARCH.deb, .rpm, .apk    packages with manual pages and completions
//	tofu_VERSION_sbom.cdx.json           the modules that the programs contain (CycloneDX)
//	tofu_VERSION_provenance.json         what was built from which commit (in-toto, SLSA)
//	tofu_VERSION_SHA256SUMS              checksums of all of these
//	tofu_VERSION_SHA256SUMS.gpgsig       a signature, if there is a key for GPG
//	tofu_VERSION_SHA256SUMS.sig          a signature, if there is a key for cosign
//
// and DIR/api.json, the list of versions that setup-opentofu and tenv read from a mirror. The names
// are those of OpenTofu's releases, so that these programs find the files below another address.
// Two builds of a commit are equal, byte for byte: times are that of the commit, and nothing depends
// on the directory or the machine.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64," +
	"freebsd/amd64,freebsd/arm64"

// release is a release that is being built.
type release struct {
	source  string // the work tree
	work    string // intermediate files
	dir     string // the files of the release
	version string
	commit  string
	time    time.Time
	modules map[string]*module // modules in the programs, by path
	golang  string             // the version of Go
	texts   []file             // files that every archive contains beside the program
}

func main() {
	source := flag.String("source", "..", "the work tree, a `directory`")
	out := flag.String("out", "dist", "write into this `directory`")
	platforms := flag.String("platforms", allPlatforms, "build for this `list` of OS/ARCH, separated by commas")
	flag.Parse()
	if err := run(*source, *out, strings.Split(*platforms, ",")); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(source, out string, platforms []string) error {
	r, err := newRelease(source, out)
	if err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	programs := make(map[string]string)
	for _, p := range platforms {
		if !slices.Contains(strings.Split(allPlatforms, ","), p) {
			return fmt.Errorf("%q is not a platform of a release; they are %s", p, allPlatforms)
		}
		if programs[p], err = r.build(p); err != nil {
			return err
		}
	}
	if err := r.collectTexts(); err != nil {
		return err
	}
	for _, p := range platforms {
		if err := r.pack(p, programs[p]); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	return r.finish(out)
}

// finish writes the documents about the other files, their checksums and the signatures.
func (r *release) finish(out string) error {
	if err := r.writeSBOM(); err != nil {
		return err
	}
	if err := r.writeProvenance(); err != nil {
		return err
	}
	if err := r.writeIndex(out); err != nil {
		return err
	}
	sums, err := r.writeSums()
	if err != nil {
		return err
	}
	return sign(sums)
}

var versionLine = regexp.MustCompile(`(?m)^\tOwn = "([^"]+)"$`)

func newRelease(source, out string) (*release, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(source, "internal/version/version.go"))
	if err != nil {
		return nil, err
	}
	found := versionLine.FindSubmatch(text)
	if found == nil {
		return nil, errors.New("internal/version/version.go has no line with the version")
	}
	r := &release{source: source, version: string(found[1]), modules: make(map[string]*module)}
	if r.commit, err = r.output("git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"); err != nil {
		return nil, err
	}
	stamp, err := r.output("git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return nil, err
	}
	r.time = time.Unix(seconds, 0).UTC()
	if r.dir, err = filepath.Abs(filepath.Join(out, "v"+r.version)); err != nil {
		return nil, err
	}
	if err := os.RemoveAll(r.dir); err != nil { // files of an earlier build would get checksums too
		return nil, err
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return nil, err
	}
	r.work, err = os.MkdirTemp("", "release-")
	return r, err
}

// path returns the path of a file of the release.
func (r *release) path(suffix string) string {
	return filepath.Join(r.dir, "tofu_"+r.version+"_"+suffix)
}

// build builds the program for a platform and returns its path.
func (r *release) build(platform string) (string, error) {
	system, arch, _ := strings.Cut(platform, "/")
	path := filepath.Join(r.work, system+"_"+arch, "tofu")
	if system == "windows" {
		path += ".exe"
	}
	fmt.Println("building for", platform)
	cmd := exec.Command("make", "-s", "-C", r.source, "build", "OUT="+path, "COMMIT="+r.commit, "GOLINK=-s -w")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=", "GOARM64=",
		"GOEXPERIMENT=", "GOWORK=off", "MAKEFLAGS=")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("building for %s: %w", platform, err)
	}
	return path, r.readModules(path)
}

// output returns what a command prints in the work tree, without the spaces around it.
func (r *release) output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = r.source
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("running %s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}
