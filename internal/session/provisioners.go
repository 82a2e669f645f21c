package session

import (
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"tofu/internal/engine"
	"tofu/internal/plugin"
	"tofu/internal/provisioner"
)

// provisioners finds provisioners by type, both built-in ones and plugins. It also starts and stops
// the plugins.
type provisioners struct {
	dirs []string // directories that are searched for plugins
	base string   // see Dirs.Base
	log  *slog.Logger

	mu      sync.Mutex
	plugins map[string]*plugin.Provisioner // plugins by type; a nil value means that no plugin was found
}

// byType returns the provisioner of a type, or nil if it isn't installed.
func (p *provisioners) byType(typ string) engine.Provisioner {
	if builtin := provisioner.Builtin(typ); builtin != nil {
		return builtin.In(p.base)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	found, known := p.plugins[typ]
	if !known {
		found = plugin.FindProvisioner(p.dirs, typ, p.log)
		if p.plugins == nil {
			p.plugins = make(map[string]*plugin.Provisioner)
		}
		p.plugins[typ] = found
	}
	if found == nil {
		return nil
	}
	return found
}

// close stops the running plugins.
func (p *provisioners) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first error
	for _, found := range p.plugins {
		if found == nil {
			continue
		}
		if err := found.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}

// provisionerDirs returns the directories that may contain provisioner plugins: the directory base,
// the directory of this program, and the plugin directories of the user.
func provisionerDirs(base string, user []string) []string {
	dirs := []string{base}
	if self, err := os.Executable(); err == nil {
		dirs = append(dirs, filepath.Dir(self))
	}
	for _, dir := range user {
		dirs = append(dirs, dir, filepath.Join(dir, runtime.GOOS+"_"+runtime.GOARCH))
	}
	return dirs
}
