// Package terragrunt reads the terragrunt.hcl files of an estate and writes a roots.tofu.hcl with
// the same root modules.
//
// The constant parts of a unit are evaluated: locals, includes and function calls. The outputs of
// other units aren't constant. In expressions, they become references such as
// root["prod/network"].vpc_id. Mock outputs aren't needed, because planned outputs replace them.
//
// Invariants: the import only reads files; it runs no programs; and everything without a
// counterpart in roots.tofu.hcl is listed in [Result.LeftOut].
package terragrunt
