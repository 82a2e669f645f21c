// Package termtext formats text for terminals: colors, widths in columns, wrapping, and control
// characters.
//
// Invariant: text from outside passes through [Printable] or [OneLine] before it is printed, so that
// it can neither move the cursor nor hide or reorder other text. In the log of a CI system, all text
// for people also passes through [WithoutCommands]. JSON documents have the exact text.
package termtext
