// Package tfdiags defines the diagnostics that are reported to users.
//
// The configuration loader, the engine, providers (through the plugin client) and the commands all
// return [Diagnostics]. Internal errors are plain errors. They are converted once, at the edge of
// the layer, with [Diagnostics.AppendError].
//
// Methods of Diagnostics never change the list in place but return a copy, because several callers
// may share it. Source ranges have file names as written by the user, relative to the working
// directory. Summaries and details never contain sensitive values.
package tfdiags
