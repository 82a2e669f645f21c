// Package cos keeps states in the object storage of Tencent Cloud, in the layout of OpenTofu.
//
// The state of the default workspace is the object PREFIX/KEY, and that of another workspace is the
// object PREFIX/NAME/KEY. A lock is an object whose name ends with ".tflock". Not every bucket can
// refuse to overwrite an existing object, so a tag of the account guards the creation of a lock: a
// tag that exists can't be created again.
//
// Invariants: the content of an object is compared with the checksum that was stored with it. Every
// request is signed with credentials from the arguments, the environment or an assumed role.
package cos
