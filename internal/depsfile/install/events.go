package install

import (
	"tofu/internal/addrs"
	"tofu/internal/depsfile"
	"tofu/internal/depsfile/sources"
)

// Event reports progress with one provider to an observer. It is one of the types in this file.
type Event interface{ event() }

// Builtin is sent for a provider that is part of this program.
type Builtin struct{ Provider addrs.Provider }

// Reusing is sent when the version is taken from the lock file.
type Reusing struct{ Provider addrs.Provider }

// Finding is sent before the sources are asked for versions. Constraints is empty if any version is
// acceptable.
type Finding struct {
	Provider    addrs.Provider
	Constraints string
}

// PassedOver is sent for a version that is not selected because it is too young.
type PassedOver struct {
	Provider addrs.Provider
	sources.PassedOver
}

// AlreadyInstalled is sent if the package was in the installation directory before, with one of the
// locked checksums.
type AlreadyInstalled struct {
	Provider addrs.Provider
	Version  depsfile.Version
}

// FromCache is sent when the package comes from the plugin cache.
type FromCache struct {
	Provider addrs.Provider
	Version  depsfile.Version
}

// Installing is sent before a package is fetched or linked.
type Installing struct {
	Provider addrs.Provider
	Version  depsfile.Version
}

// Waiting is sent when another process has been installing into the plugin cache for a few seconds.
type Waiting struct {
	Provider addrs.Provider
	Version  depsfile.Version
}

// Installed is sent when the package is installed. Auth says how it was authenticated; KeyID is the
// ID of the signing key, or "".
type Installed struct {
	Provider addrs.Provider
	Version  depsfile.Version
	Auth     string
	KeyID    string
}

// Mirroring is sent before the packages of a version are put into a mirror.
type Mirroring struct {
	Provider    addrs.Provider
	Version     depsfile.Version
	Locked      bool   // the version is taken from the lock file
	Constraints string // if not Locked, the constraints on the version
}

// Fetching is sent before a package is fetched or read for a lock file or a mirror.
type Fetching struct {
	Provider addrs.Provider
	Version  depsfile.Version
	Platform depsfile.Platform
}

// Progress reports how many bytes of a package have been fetched. The total is 0 if unknown.
type Progress struct {
	Provider    addrs.Provider
	Version     depsfile.Version
	Platform    depsfile.Platform
	Done, Total int64
}

// Fetched is sent when the checksums of a package are known. Auth is as in Installed.
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
func (PassedOver) event()       {}
func (AlreadyInstalled) event() {}
func (FromCache) event()        {}
func (Installing) event()       {}
func (Waiting) event()          {}
func (Installed) event()        {}
func (Mirroring) event()        {}
func (Fetching) event()         {}
func (Progress) event()         {}
func (Fetched) event()          {}
