package getmodules

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tofu/internal/atomicfile"
	"tofu/internal/configs"
)

// Record describes an installed module call in modules.json.
type Record struct {
	Key     string // names of the calls, separated by dots; "" is the root module
	Source  string
	Version string `json:",omitempty"`
	Dir     string // relative to the working directory, with forward slashes
}

// Manifest is the content of modules.json: the installed calls by key. Records and files of calls
// that are no longer in the configuration are kept.
type Manifest map[string]Record

// ManifestFile returns the path of the file that lists the modules in a directory.
func ManifestFile(dir string) string { return filepath.Join(dir, "modules.json") }

// readManifest reads modules.json in dir. If the file doesn't exist, the manifest is empty. base is
// the directory of the root module relative to the working directory; "" means the working
// directory. Directory names in the file are relative to base.
func readManifest(dir, base string) (Manifest, error) {
	m := make(Manifest)
	data, err := atomicfile.Read(ManifestFile(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	var doc struct{ Modules []Record }
	if err == nil {
		if err = json.Unmarshal(data, &doc); err != nil {
			err = fmt.Errorf("%s: %w", ManifestFile(dir), err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("reading the list of installed modules: %w", err)
	}
	for _, r := range doc.Modules {
		if base != "" && !filepath.IsAbs(r.Dir) {
			r.Dir = filepath.ToSlash(filepath.Join(base, filepath.FromSlash(r.Dir)))
		}
		m[r.Key] = r
	}
	return m, nil
}

// Write replaces modules.json in dir if its content differs. See readManifest for base.
func (m Manifest) Write(dir, base string) error {
	var doc struct{ Modules []Record }
	for _, key := range slices.Sorted(maps.Keys(m)) {
		r := m[key]
		r.Dir = filepath.ToSlash(configs.RelativeDir(base, filepath.FromSlash(r.Dir)))
		doc.Modules = append(doc.Modules, r)
	}
	data, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	file := ManifestFile(dir)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	if old, err := atomicfile.Read(file); err == nil && string(old) == string(data) {
		return nil
	}
	if err := atomicfile.Write(file, data, 0o644); err != nil {
		return fmt.Errorf("writing the list of installed modules: %w", err)
	}
	return nil
}

// forget removes a call and all calls below it from the manifest.
func (m Manifest) forget(key string) {
	if _, ok := m[key]; !ok {
		return // if the call is not recorded, the calls below it aren't either
	}
	for k := range m {
		if k == key || strings.HasPrefix(k, key+".") {
			delete(m, k)
		}
	}
}
