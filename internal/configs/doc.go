// Package configs loads directories of .tf and .tofu files into an immutable tree of decoded
// modules.
//
// A [Module] is the content of one directory. It is parsed and decoded once, however many calls
// refer to it. A [Config] is one node of the module tree, reached by one path of module calls, and
// points to its Module. Bodies whose structure depends on a provider's schema stay undecoded
// (hcl.Body), and so do expressions that only the engine can evaluate. Module sources, backend
// settings and for_each of providers are needed before the engine runs; they are evaluated
// statically, with the same evaluator as all other expressions.
//
// After [LoadRoot] has returned, nothing in the tree changes, except the cached results of static
// evaluation, which have a lock. Loading reports every independent error with file, line and
// column. The package starts no provider. It reads only configuration files, and files that
// functions in static expressions read.
package configs
