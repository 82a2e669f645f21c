// Package moduletest runs the tests of a module. A test file consists of runs, each of which plans
// or applies a configuration with its own values, provider configurations and mocked objects, and
// checks the result. The test command uses the package; an observer receives events.
//
// [Load] reads the test files and the modules of their runs. A [Runner] executes the files one
// after another. Runs in one file that test the same module share a state, which is empty at first.
// At the end of the file all objects are destroyed, starting with the state of the last run.
//
// Invariants: tests have their own states and never access the states of workspaces, except those that
// a backend block in a run names; real objects
// are always destroyed, even if a later run mocks them; objects that could not be destroyed are
// passed to the caller, which saves them; the package itself only reads configuration and test
// files.
package moduletest
