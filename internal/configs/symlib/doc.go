// Package symlib reads symbol libraries: directories of *.sym.hcl files with functions, types and
// constant values that modules import with symbols blocks.
//
// A [Loader] loads the libraries of a block, and [Imports.Rewrite] replaces what refers to them in the syntax
// tree of a module's file, before anything else looks at it: a type becomes its definition, and values
// and calls become expressions that know what they refer to. So nothing else has to know libraries.
//
// Invariants: values are evaluated while a library is loaded, and functions don't call themselves, so a
// loaded library doesn't change and is safe for concurrent use.
package symlib
