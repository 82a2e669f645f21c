package getmodules

// Event tells an observer what is happening. It is one of the types in this file.
type Event interface{ event() }

// Downloading: the package of a call is about to be fetched.
type Downloading struct {
	Key     string // the call's path, "net.subnets"
	Source  string // without secrets
	Version string // of a package from a registry
}

// Progress: a part of a package has come, or all of it.
type Progress struct {
	Source      string // the package's address, without secrets
	Done, Total int64  // bytes; Total is 0 when it isn't known
	Step        string // what a program that fetches says of itself, in place of bytes
	Over        bool   // the package is there, or can't be had
}

// InPlace: the module of a call is in a folder.
type InPlace struct{ Key, Version, Dir string }

// Changed: the files in the folder of a call are not those that are pinned, so they are fetched again.
type Changed struct{ Key, Dir string }

func (Changed) event()     {}
func (Downloading) event() {}
func (Progress) event()    {}
func (InPlace) event()     {}
