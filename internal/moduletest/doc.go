// Package moduletest runs the tests of a module. A test file consists of runs, each of which plans
// or applies a configuration with its own values, provider configurations and mocked objects, and
// checks the result. The test command uses the package; an observer receives events.
//
// [Load] reads the test files and the modules of their runs. A [Runner] executes the files one
// after the other. Runs in one file that test the same module share a state, which is initially
// empty. At the end of the file all objects are destroyed, starting with the state of the last run.
//
// Invariants: tests have their own states, and no state of a workspace is read or written; real
// objects are always destroyed, even if a later run mocks them; objects that could not be destroyed
// are passed to the caller to save; the package performs no input or output.
package moduletest
