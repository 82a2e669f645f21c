package configs

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"tofu/internal/tfdiags"
)

// dirFiles holds the paths of the configuration files in one directory, each list in lexical order.
type dirFiles struct {
	primary, overrides []string
}

func (f dirFiles) empty() bool { return len(f.primary) == 0 && len(f.overrides) == 0 }

// extensions lists the file name extensions of one kind of file. A file is ignored if its extension
// is superseded by the extension of another file with the same base name.
type extensions []struct{ ext, supersedes string }

var configExtensions = extensions{
	{".tofu.json", ".tf.json"},
	{".tf.json", ""},
	{".tofu", ".tf"},
	{".tf", ""},
}

// IsConfigFile reports whether a name has the extension of a configuration file.
func IsConfigFile(name string) bool { return configExtensions.of(name) != "" }

// of returns the extension of a file name that is in the list, or "".
func (x extensions) of(name string) string {
	for _, e := range x {
		if strings.HasSuffix(name, e.ext) {
			return e.ext
		}
	}
	return ""
}

// among returns the names of the files of this kind in a directory, without hidden files, backup
// files and superseded files.
func (x extensions) among(entries []fs.DirEntry) map[string]bool {
	present := make(map[string]bool, len(entries))
	for _, e := range entries {
		if !e.IsDir() && !isIgnored(e.Name()) && x.of(e.Name()) != "" {
			present[e.Name()] = true
		}
	}
	for _, e := range x {
		if e.supersedes == "" {
			continue
		}
		for name := range present {
			if base, ok := strings.CutSuffix(name, e.ext); ok {
				delete(present, base+e.supersedes)
			}
		}
	}
	return present
}

// isIgnored reports whether a file is hidden or an editor's backup file.
func isIgnored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasSuffix(name, "~") ||
		strings.HasPrefix(name, "#") && strings.HasSuffix(name, "#")
}

// isTofuFile reports whether the file's extension is one that Terraform ignores.
func isTofuFile(name string) bool {
	return strings.HasSuffix(name, ".tofu") || strings.HasSuffix(name, ".tofu.json")
}

// listFiles finds the configuration files of a directory.
func listFiles(fsys FS, dir string) (dirFiles, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil {
		return dirFiles{}, err
	}
	var out dirFiles
	for name := range configExtensions.among(entries) {
		base := strings.TrimSuffix(name, configExtensions.of(name))
		if base == "override" || strings.HasSuffix(base, "_override") {
			out.overrides = append(out.overrides, filepath.Join(dir, name))
		} else {
			out.primary = append(out.primary, filepath.Join(dir, name))
		}
	}
	slices.Sort(out.primary)
	slices.Sort(out.overrides)
	return out, nil
}

// IsModuleDir reports whether a directory has at least one configuration file.
func (p *Parser) IsModuleDir(dir string) bool {
	files, err := listFiles(p.fs, dir)
	return err == nil && !files.empty()
}

// unreadable returns the error for a directory that can't be listed.
func unreadable(dir string, err error) tfdiags.Diagnostic {
	if errors.Is(err, fs.ErrNotExist) {
		return tfdiags.Errorf("Failed to read module directory", "The directory %s of the module does not exist.", dir)
	}
	return tfdiags.Errorf("Failed to read module directory",
		"The directory of the module can't be read: %s.", err) // err contains the path
}
