// Package tfdiags defines the diagnostics that are reported to users.
//
// All packages report diagnostics in the same way:
//
//   - A function that can fail returns an error. The error may be a [Diagnostic], a list of them
//     ([Diagnostics.Err], [Join]) or any other error. The caller tests it with err != nil.
//   - A function that can warn takes a [Sink], or its receiver has one, and passes the warning to
//     it at once. Warnings are never part of a returned error.
//   - A function that continues after an error collects all errors in a Diagnostics and returns
//     the list's Err.
//   - Code that prints or sends a list gets the diagnostics from an error with
//     [Diagnostics.AppendError], which turns any other error into a diagnostic.
//
// Lists themselves are passed only as data, such as the response of a provider or the output of a
// command.
//
//	var errs tfdiags.Diagnostics
//	for _, block := range blocks {
//		if err := check(block); err != nil {
//			errs = errs.AppendError(err)
//			continue
//		}
//		if block.Old() {
//			warn(tfdiags.Warningf("Deprecated block", "…").At(block.Range))
//		}
//	}
//	return errs.Err()
//
// Methods of Diagnostics, except [Diagnostics.Add] and [Diagnostics.Sort], never change the list in
// place but return a copy, because several callers may share it. Source ranges have file names as
// written by the user, relative to the working directory. Summaries and details never contain
// sensitive values.
package tfdiags
