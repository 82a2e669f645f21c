// Package progress shows what a command is doing, in a few lines at the bottom of the terminal.
// All other output scrolls above these lines.
//
// A [Region] owns these lines. All output to the terminal passes through its writers, which
// erase the lines first. The lines are drawn again at the next tick. A [Live] knows the content
// of the lines: the phase, what is done, and what is running for how long. All methods of a nil
// Live do nothing, so callers need no checks.
//
// Invariants: nothing is drawn while the last output ends within a line, as a question does.
// The region never takes more than a third of the terminal's rows, and no line reaches the last
// column. The time to write and draw doesn't depend on what has run before.
package progress
