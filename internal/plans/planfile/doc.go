// Package planfile writes plans to files and reads them back, with everything that applying them
// elsewhere needs: the configuration, the provider lock, the states and where the state is kept.
//
// A plan file is a zip archive. "plan" is a stream of msgpack documents: what is said once, then
// one per change. Each type and provider stands where it is first needed and is referred to by
// number afterwards. "state" and "previous-state" are state files; the second is left out when it
// is the same. The value of an object that doesn't change isn't repeated in the plan when it stands
// in the state as it is. "schemas" holds the schemas of the resource types in the plan, so that it
// can be shown without the providers. The configuration's files are below "config/". The form is
// this program's own: plan files of other programs, and of versions of this one that write it
// differently, are recognised and refused.
//
// Invariants: what is read is equal to what was written, marks and unknown values included;
// ephemeral values are an error; the cost is linear; no input makes Parse panic or use memory out
// of proportion.
package planfile
