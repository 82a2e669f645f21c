package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// module is a Go module in the programs.
type module struct{ Path, Version, Sum string }

// readModules adds the modules that a program contains.
func (r *release) readModules(program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return fmt.Errorf("reading which modules %s contains: %w", program, err)
	}
	r.golang = info.GoVersion
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		r.modules[m.Path] = &module{m.Path, m.Version, m.Sum}
	}
	return nil
}

func (r *release) sortedModules() []*module {
	var out []*module
	for _, m := range r.modules {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *module) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// licenseName matches the names of files with the terms of a license.
var licenseName = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|copyright|notice|unlicense|patents)([-._].*)?$`)

// collectTexts reads the files that every archive contains beside the program. One of them has the
// licenses of all dependencies.
func (r *release) collectTexts() error {
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		data, err := os.ReadFile(filepath.Join(r.source, name))
		if err != nil {
			return err
		}
		r.texts = append(r.texts, file{name, 0o644, data})
	}
	root, err := r.output("go", "env", "GOROOT")
	if err != nil {
		return err
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "The program contains these modules and the standard library of Go, under these licenses.\n")
	if err := licenses(&out, "The Go standard library, "+r.golang, root); err != nil {
		return err
	}
	for _, m := range r.sortedModules() {
		dir, err := r.output("go", "list", "-m", "-f", "{{.Dir}}", m.Path)
		if err != nil {
			return err
		}
		if err := licenses(&out, m.Path+" "+m.Version, dir); err != nil {
			return err
		}
	}
	r.texts = append(r.texts, file{"LICENSES-OF-DEPENDENCIES.txt", 0o644, out.Bytes()})
	return nil
}

// licenses appends the licenses in a directory.
func licenses(out *bytes.Buffer, title, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	fmt.Fprintf(out, "\n%s\n%s\n", strings.Repeat("=", 80), title)
	for _, e := range entries {
		if !e.Type().IsRegular() || !licenseName.MatchString(e.Name()) {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		found = true
		fmt.Fprintf(out, "\n---- %s\n\n%s\n", e.Name(), bytes.TrimSpace(text))
	}
	if !found {
		return fmt.Errorf("%s has no license in %s", title, dir)
	}
	return nil
}

// The types below are the parts of CycloneDX 1.6 that are used.
type (
	bom struct {
		Format     string      `json:"bomFormat"`
		Spec       string      `json:"specVersion"`
		Serial     string      `json:"serialNumber"`
		Version    int         `json:"version"`
		Metadata   bomMetadata `json:"metadata"`
		Components []component `json:"components"`
	}
	bomMetadata struct {
		Timestamp string    `json:"timestamp"`
		Component component `json:"component"`
	}
	component struct {
		Type       string     `json:"type"`
		Ref        string     `json:"bom-ref"`
		Name       string     `json:"name"`
		Version    string     `json:"version"`
		PURL       string     `json:"purl,omitempty"`
		Properties []property `json:"properties,omitempty"`
	}
	property struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
)

const timeFormat = "2006-01-02T15:04:05Z"

// writeSBOM writes which modules the programs contain.
func (r *release) writeSBOM() error {
	own := component{Type: "application", Ref: "tofu@" + r.version, Name: "tofu", Version: r.version,
		Properties: []property{{"commit", r.commit}}}
	doc := bom{Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: bomMetadata{r.time.Format(timeFormat), own},
		Components: []component{{Type: "library", Ref: "pkg:golang/std@" + r.golang, Name: "std", Version: r.golang,
			PURL: "pkg:golang/std@" + strings.TrimPrefix(r.golang, "go")}}}
	for _, m := range r.sortedModules() {
		purl := "pkg:golang/" + m.Path + "@" + m.Version
		doc.Components = append(doc.Components, component{Type: "library", Ref: purl, Name: m.Path, Version: m.Version,
			PURL: purl, Properties: []property{{"go.sum", m.Sum}}})
	}
	// The serial number is a UUID that depends on the version and the commit only.
	id := sha256.Sum256([]byte(r.version + r.commit))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	doc.Serial = fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
	return writeJSON(r.path("sbom.cdx.json"), doc)
}

// writeProvenance writes an in-toto statement with SLSA's predicate: what was built from what. The
// environment variable RELEASE_BUILDER says who built it.
func (r *release) writeProvenance() error {
	type digests map[string]string
	type subject struct {
		Name   string  `json:"name"`
		Digest digests `json:"digest"`
	}
	type resolved struct {
		URI    string  `json:"uri"`
		Digest digests `json:"digest,omitempty"`
	}
	var subjects []subject
	names, err := r.files()
	if err != nil {
		return err
	}
	for _, name := range names {
		sum, err := sha256Of(filepath.Join(r.dir, name))
		if err != nil {
			return err
		}
		subjects = append(subjects, subject{name, digests{"sha256": sum}})
	}
	builder := os.Getenv("RELEASE_BUILDER")
	if builder == "" {
		builder = "local"
	}
	return writeJSON(r.path("provenance.json"), map[string]any{
		"_type":         "https://in-toto.io/Statement/v1",
		"subject":       subjects,
		"predicateType": "https://slsa.dev/provenance/v1",
		"predicate": map[string]any{
			"buildDefinition": map[string]any{
				"buildType":          "make release",
				"externalParameters": map[string]any{"version": r.version, "commit": r.commit},
				"internalParameters": map[string]any{"go": r.golang, "SOURCE_DATE_EPOCH": r.time.Unix()},
				"resolvedDependencies": []resolved{
					{URI: "git", Digest: digests{"gitCommit": strings.TrimSuffix(r.commit, "-dirty")}},
					{URI: "pkg:golang/std@" + strings.TrimPrefix(r.golang, "go")}},
			},
			"runDetails": map[string]any{"builder": map[string]any{"id": builder}},
		},
	})
}

// writeIndex writes the list of versions for programs that install versions from a mirror. Versions
// that the list already has stay in it.
func (r *release) writeIndex(out string) error {
	type version struct {
		ID    string   `json:"id"`
		Files []string `json:"files"`
	}
	var index struct {
		Versions []version `json:"versions"`
	}
	path := filepath.Join(out, "api.json")
	text, err := os.ReadFile(path)
	switch {
	case err == nil:
		if err := json.Unmarshal(text, &index); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	names, err := r.files()
	if err != nil {
		return err
	}
	index.Versions = slices.DeleteFunc(index.Versions, func(v version) bool { return v.ID == r.version })
	index.Versions = append(index.Versions, version{r.version, append(names, filepath.Base(r.path("SHA256SUMS")))})
	return writeJSON(path, index)
}

// files returns the names of the files of the release so far, in order.
func (r *release) files() ([]string, error) {
	entries, err := os.ReadDir(r.dir)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out, err
}

// writeSums writes the checksums in the format of sha256sum, and returns the path of the file.
func (r *release) writeSums() (string, error) {
	names, err := r.files()
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, name := range names {
		sum, err := sha256Of(filepath.Join(r.dir, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s  %s\n", sum, name)
	}
	path := r.path("SHA256SUMS")
	return path, os.WriteFile(path, []byte(out.String()), 0o644)
}

func sha256Of(path string) (string, error) {
	data, err := os.ReadFile(path)
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), err
}

func writeJSON(path string, doc any) error {
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
