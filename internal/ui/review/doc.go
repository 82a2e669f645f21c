// Package review writes a plan as Markdown, for a comment on a pull request. The text has a
// table of counts, and then each change with its differences in a folded block, the most
// dangerous changes first.
//
// Code hosts limit the length of comments. If the text would be longer than the limit, the
// differences of the least dangerous changes are omitted first, and then the lines about these
// changes. The table and the number of omitted changes are always present. A block is never
// cut: each change is complete or omitted.
//
// Invariants: names and values from the configuration are escaped, or are in code spans or code
// blocks whose fences are longer than any fence in the text. So they can't become markup. The
// text contains no sensitive or ephemeral values. Writing takes time linear in the size of the
// plan.
package review
