// Package moduletest runs the tests of a module: files of runs, each of which plans or applies a configuration with values,
// provider configurations and made-up objects of its own, and checks what comes of it. It is for the test command; what happens is
// told to an observer as events.
//
// [Load] reads the files and the modules that they name. A [Runner] executes them, one file after the other. Runs of one file
// that test the same module share a state, which begins empty; at the file's end everything in it is destroyed, the states of the
// last runs first.
//
// Invariants: the states of tests are their own, no state of a workspace is read or written; an object that was made for real is
// destroyed for real, also when a later run mocks it; what could not be destroyed is handed to the caller to be kept, never
// dropped; the package does no input or output itself.
package moduletest
