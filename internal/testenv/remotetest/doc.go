// Package remotetest serves the JSON interface that services for teams share: organizations,
// projects, workspaces with tags, locks and versions of states, in memory, with tokens of users. It
// is for tests only.
//
// Invariants: a workspace is locked by one user at a time. A version of a state is accepted only
// while its sender has locked the workspace, and only with the right checksum. Its serial must be
// greater than the last one, unless its content is the same.
package remotetest
