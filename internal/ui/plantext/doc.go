// Package plantext renders a plan for review as text in three views: brief, as a tree and as a
// table. The full view is in package ui.
//
// Invariants: a line never takes more columns than the screen has. The only exceptions are
// blocks that users copy and the line with the numbers of changes, which programs read. Text is
// written while it is rendered. A view takes time linear in the number of changes in the plan.
package plantext
