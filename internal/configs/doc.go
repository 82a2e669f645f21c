// Package configs turns directories of .tf and .tofu files into an immutable tree of decoded modules.
//
// A [Module] is the content of one directory, parsed and decoded once however many calls refer to it; a [Config] is one place in
// the module tree (one call path) and points to its Module. Bodies whose shape depends on a provider's schema stay undecoded
// (hcl.Body), and so does every expression that has to wait for the engine; what must be known before there is an engine
// (module sources, backend settings, for_each of providers) is evaluated statically, with the same evaluator as everything else.
//
// Invariants: nothing here changes after [LoadRoot] returned, so everything is shared without locks; loading reports every
// independent error it can find, with file, line and column; the package runs no provider and reads only the files it is given.
package configs
