// Package planfile writes and reads plan files. A plan file contains everything that is needed to
// apply the plan elsewhere: the configuration, the provider lock, the states, and where the state
// is stored.
//
// A plan file is a zip archive. The file "plan" is a stream of MessagePack documents: one for the
// whole plan, then one per change. Types and providers are written when they are used first.
// Afterwards, they are referred to by number. The value of an unchanged object is omitted from the
// plan if the state contains it in the same form. The file "schemas" holds the schemas of the
// resource types in the plan, so the plan can be shown without the providers.
//
// The other files have the names and the content that they have in OpenTofu's plan files, because
// scanners and other tools open them: "tfstate" and "tfstate-prev", which is omitted if both states
// are equal; "tfconfig/", the configuration; ".terraform.lock.hcl"; and "tfplan", which holds only
// the values of variables. Plan files of other programs, and of versions with another format, are
// recognized and refused, and OpenTofu refuses these.
//
// Invariants: a plan that is read equals the plan that was written, including marks and unknown
// values; ephemeral values are an error; the cost is linear; no input makes Parse panic or use
// memory out of proportion to its size.
package planfile
