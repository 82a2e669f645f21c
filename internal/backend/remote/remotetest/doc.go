// Package remotetest serves the JSON interface that services for teams share: organizations,
// projects, workspaces with tags, locks and versions of states, in memory, with tokens of users. It
// is for tests only.
//
// Invariants: a workspace is locked by one user at a time; a version of a state is only accepted
// while its sender has locked the workspace, with the right checksum and a serial that is greater
// than the last one, unless it has the same content.
package remotetest
