// Package addrs names the things a configuration and a state are made of: modules, resources, instances, providers.
//
// Addresses are small comparable values, so that they serve as map keys; their text form is made for output and is parsed back
// by the functions in parse.go. Module paths are kept in text form because it is the cheapest comparable form of a list.
//
// Invariants: the zero value of Module and ModuleInstance is the root module; the zero InstanceKey is "no key"; two addresses
// are equal exactly when == says so; nothing here evaluates anything.
package addrs
