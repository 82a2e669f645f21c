// Package depsfile reads and writes the dependency lock file, .terraform.lock.hcl: which version of each provider a
// root module uses and which packages of that version are the true ones.
//
// It is the vocabulary of everything that installs or starts providers: what a configuration requires becomes
// [Requirements], package install turns them and the previous [Locks] into new ones, commands that start providers check
// the one against the other, and plan files carry the locks they were made with. Pinned modules ([ModuleLocks]) have a
// file of the same kind, .terraform.modules.lock.hcl.
//
// Invariants: Locks are a value that nobody changes after sharing it; a file is written with one atomic rename and
// always in the one normal form that OpenTofu writes too, byte for byte; a file that isn't understood completely is
// refused, because guessing would defeat its purpose; nothing here talks to a network.
package depsfile
