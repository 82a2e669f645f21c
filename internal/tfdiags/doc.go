// Package tfdiags holds the one form in which problems that a user can mend are reported.
//
// Every layer returns [Diagnostics]: the configuration loader, the engine, providers (through the plugin client) and the
// commands. What only a programmer can mend stays a plain error and is wrapped once, at the layer's edge, by
// [Diagnostics.Append].
//
// Invariants: a list that several may hold is never changed in place: the methods copy, and others change only what they have just
// been given by one who keeps nothing; source ranges carry file names as the user wrote them (relative to the working directory);
// sensitive values never appear in a summary or a detail.
package tfdiags
