// Package review writes a plan as Markdown, for a comment on a pull request: a table of counts,
// then each change with its difference in a folded block, the most dangerous ones first.
//
// Code hosts limit the length of comments. If the text would be longer than the limit, the
// differences of the least dangerous changes are left out first, then their lines; the table and
// the number of what was left out always stay. A text is never cut inside a block: each change is
// whole or absent.
//
// Invariants: names and values from the configuration are only in code spans and code blocks whose
// fences are longer than any that the text contains, or escaped, so they can't become markup. No
// sensitive or ephemeral value is in the text. The cost is the size of the plan.
package review
