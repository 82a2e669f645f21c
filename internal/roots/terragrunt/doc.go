// Package terragrunt reads the terragrunt.hcl files of an estate and writes a roots.tofu.hcl with
// the same root modules.
//
// What is constant in a unit is evaluated: locals, includes, functions. What isn't are the outputs
// of other units: they become references such as root["prod/network"].vpc_id, in the expressions in
// which they are. Mock outputs have no counterpart, because planned outputs take their place.
//
// Invariants: nothing but the files is read, no program is run, and everything that has no
// counterpart is listed in [Result.LeftOut].
package terragrunt
