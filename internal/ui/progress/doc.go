// Package progress shows on a terminal what a command does right now: a few lines at the bottom,
// above which all other output scrolls.
//
// A [Region] owns these lines. All output to the terminal passes through its writers, which erase
// the lines first; they are drawn again at the next tick. A [Live] knows what they say: the phase,
// what is done, what runs and for how long. A nil Live does nothing, so callers need not ask
// whether there is one.
//
// Invariants: nothing is drawn while the last output ends within a line, as a question does. The
// region never has more lines than a third of the terminal, and no line reaches its last column.
// Writing and drawing take time independent of what ran before.
package progress
