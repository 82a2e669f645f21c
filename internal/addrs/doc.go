// Package addrs defines the addresses of modules, resources, instances and provider configurations.
//
// Addresses are small comparable values that can be map keys. Their methods String return the form
// for output, which the functions in parse.go parse. Module paths are stored as text, because this
// is the cheapest comparable representation of a list.
//
// The zero values of Module and ModuleInstance are the root module, the zero InstanceKey is
// [NoKey]. Two addresses are the same if and only if they are ==.
package addrs
