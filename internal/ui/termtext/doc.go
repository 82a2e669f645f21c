// Package termtext formats text for terminals: colors, widths in columns, wrapping, and control
// characters.
//
// Invariant: text from outside passes through [Printable] before it is printed, so that it can
// neither move the cursor nor hide other text.
package termtext
