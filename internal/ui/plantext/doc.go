// Package plantext renders a plan for review as text in three views: brief, as a tree and as a
// table. The full view is in package ui.
//
// Invariants: a line never takes more columns than the screen has, except for blocks to paste and
// the line with the counts, which programs read. Text is written while it is rendered. A view takes
// time linear in the changes of the plan.
package plantext
