package install

import (
	"tofu/internal/addrs"
	"tofu/internal/depsfile"
)

// Event tells an observer what is happening to one provider. It is one of the types in this file.
type Event interface{ event() }

// Builtin: the provider is part of this program.
type Builtin struct{ Provider addrs.Provider }

// Reusing: the version is the lock file's.
type Reusing struct{ Provider addrs.Provider }

// Finding: the sources are asked for versions. Constraints is empty for any version.
type Finding struct {
	Provider    addrs.Provider
	Constraints string
}

// AlreadyInstalled: the package is in place and verified.
type AlreadyInstalled struct {
	Provider addrs.Provider
	Version  depsfile.Version
}

// FromCache: the package in the plugin cache is used.
type FromCache struct {
	Provider addrs.Provider
	Version  depsfile.Version
}

// Installing: a package is about to be fetched or linked.
type Installing struct {
	Provider addrs.Provider
	Version  depsfile.Version
}

// Waiting: another process installs into the plugin cache, since some seconds.
type Waiting struct {
	Provider addrs.Provider
	Version  depsfile.Version
}

// Installed: the package is in place. Auth says how it is vouched for, KeyID by which key, if any.
type Installed struct {
	Provider addrs.Provider
	Version  depsfile.Version
	Auth     string
	KeyID    string
}

// Mirroring: packages of a version are about to be put into a mirror.
type Mirroring struct {
	Provider    addrs.Provider
	Version     depsfile.Version
	Locked      bool   // the version is the lock file's
	Constraints string // that led to the version otherwise
}

// Fetching: a package of some platform is fetched or read, for a lock file or a mirror.
type Fetching struct {
	Provider addrs.Provider
	Version  depsfile.Version
	Platform depsfile.Platform
}

// Progress: so many bytes of a package have come, of so many, 0 when that is unknown.
type Progress struct {
	Provider    addrs.Provider
	Version     depsfile.Version
	Platform    depsfile.Platform
	Done, Total int64
}

// Fetched: its checksums are known; Auth as in Installed.
type Fetched struct {
	Provider addrs.Provider
	Version  depsfile.Version
	Platform depsfile.Platform
	Auth     string
	KeyID    string
}

func (Builtin) event()          {}
func (Reusing) event()          {}
func (Finding) event()          {}
func (AlreadyInstalled) event() {}
func (FromCache) event()        {}
func (Installing) event()       {}
func (Waiting) event()          {}
func (Installed) event()        {}
func (Mirroring) event()        {}
func (Fetching) event()         {}
func (Progress) event()         {}
func (Fetched) event()          {}
