package getmodules

import "tofu/internal/depsfile/sources"

// Event reports progress to an observer. It is one of the types in this file.
type Event interface{ event() }

// Downloading is sent before the package of a module call is fetched.
type Downloading struct {
	Key     string // the path of the module call, such as "net.subnets"
	Source  string // address without secrets
	Version string // "" unless the package comes from a registry
}

// PassedOver is sent for a version that is not selected because it is too young.
type PassedOver struct {
	Source string
	sources.PassedOver
}

// Progress reports how much of a package has been fetched.
type Progress struct {
	Source      string // package address without secrets
	Done, Total int64  // bytes; Total is 0 if unknown
	Step        string // a progress message of the program that fetches the package; set instead of Done and Total
	Over        bool   // whether the package is complete or fetching it has failed
}

// InPlace is sent when the module that a call uses is available in Dir.
type InPlace struct{ Key, Version, Dir string }

// Changed is sent when the files of an installed module don't match its pin. The module is then
// fetched again.
type Changed struct{ Key, Dir string }

func (Changed) event()     {}
func (PassedOver) event()  {}
func (Downloading) event() {}
func (Progress) event()    {}
func (InPlace) event()     {}
