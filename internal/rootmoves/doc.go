// Package rootmoves moves objects between the states of the root modules of an estate, as their moved
// blocks with root["NAME"] say.
//
// # Invariants
//
//   - At any moment, each object is in exactly one state, or both states record that it is moving. Each
//     state is written as a whole, so a move is decided by the single write in which its source loses the
//     objects and records them; [statemgr.Moving] has the steps.
//   - The next command that locks one of the two states finishes the move, or undoes a move
//     that was not decided, before it does anything else.
//   - Nothing is written before all addresses of all moves are checked in locked states.
package rootmoves
