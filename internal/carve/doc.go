// Package carve divides a root module into several: it moves resource and module blocks into other
// root modules and rewrites what refers to them.
//
//	m, err := carve.Parse(dir, files)
//	division, err := m.Divide("app", map[string]carve.Place{"aws_vpc.main": {"network", "aws_vpc.main"}}, parts)
//
// A reference from one part to another becomes an output there and a terraform_remote_state data source
// here. What has no objects is copied to each part that needs it: variables, local values, data sources,
// provider configurations.
//
// # Invariants
//
//   - The text of blocks changes only where a reference crosses parts, or where a moved block gets a new
//     name. Comments stay with their blocks.
//   - No two parts need one another: a division that would need that is an error that names references.
//   - The package does no I/O.
package carve
