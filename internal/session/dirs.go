package session

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tofu/internal/atomicfile"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/pkgstore"
	"tofu/internal/getmodules"
)

// Dirs holds the directories of a root module. Its methods find, read and write the files that the
// program keeps in them.
type Dirs struct {
	WorkDir string // working directory before -chdir; the value of path.cwd
	DataDir string // usually ".terraform"
	RootDir string // directory of the root module; usually "."
	// Base is the directory to which paths in the configuration and names of files are relative; ""
	// means the working directory. A process that works on several root modules has a session for
	// each of them.
	Base string
	// InitCommand is the command that initializes the directories, for use in messages.
	InitCommand string
}

// at returns the directories of one of several root modules.
func (d *Dirs) at(m RootModule) Dirs {
	out := Dirs{WorkDir: filepath.Join(d.WorkDir, m.Dir), RootDir: m.Dir, Base: m.Dir, InitCommand: "tofu roots init"}
	out.DataDir = filepath.Join(out.path(d.DataDir), m.Own)
	return out
}

// path returns the path of a file relative to the working directory. name comes from the
// configuration or the user and is relative to Base.
func (d *Dirs) path(name string) string {
	if d.Base == "" || filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(d.Base, name)
}

// LockFile returns the path of the dependency lock file.
func (d *Dirs) LockFile() string { return d.path(depsfile.FileName) }

// ModuleLockFile returns the path of the file that pins modules.
func (d *Dirs) ModuleLockFile() string { return d.path(depsfile.ModulesFileName) }

// ModulesDir returns the directory of the installed modules.
func (d *Dirs) ModulesDir() string { return filepath.Join(d.DataDir, "modules") }

// DataFiles returns the paths of the files in the data directory that say which backend is set up, which
// workspace is selected and which modules are installed, and the directory of these modules.
func (d *Dirs) DataFiles() []string {
	return []string{d.backendRecordPath(), filepath.Join(d.DataDir, selectionFile), getmodules.ManifestFile(d.ModulesDir()),
		d.ModulesDir()}
}

// ProvidersDir returns the directory of the installed providers.
func (d *Dirs) ProvidersDir() string { return filepath.Join(d.DataDir, "providers") }

// WriteDataFile writes a file in the data directory atomically.
func (d *Dirs) WriteDataFile(name string, content []byte, perm fs.FileMode) error {
	if err := d.makeDataDir(); err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(d.DataDir, name), content, perm); err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

func (d *Dirs) makeDataDir() error {
	if err := os.MkdirAll(d.DataDir, 0o755); err != nil {
		return fmt.Errorf("creating the data directory: %w", err)
	}
	return nil
}

// UpdateDataFile replaces the content of a file in the data directory by the result of the function
// update, while no other process does. previous is nil if there is no such file.
func (d *Dirs) UpdateDataFile(ctx context.Context, name string, update func(previous []byte) ([]byte, error)) error {
	if err := d.makeDataDir(); err != nil {
		return err
	}
	path := filepath.Join(d.DataDir, name)
	unlock, err := pkgstore.LockFile(ctx, path+".lock", nil)
	if err != nil {
		return err
	}
	defer unlock()
	previous, _ := atomicfile.Read(path)
	text, err := update(previous)
	if err != nil {
		return err
	}
	return d.WriteDataFile(name, text, 0o600)
}
