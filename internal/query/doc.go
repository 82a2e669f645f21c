// Package query finds existing objects: it runs the list blocks of query files (*.tfquery.hcl), as
// `tofu query` does, and writes the configuration that imports what they find.
//
// A list block is loaded as a data source (see configs.ListType), and a [Run] makes the engine's
// providers answer reads of these data sources with what the provider lists. So the engine evaluates,
// orders and repeats list blocks as it does data sources, and knows nothing of them.
package query
