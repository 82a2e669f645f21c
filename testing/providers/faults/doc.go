// Package faults injects faults into the test providers. Environment variables of the provider
// process define the faults:
//
//	PREFIX_FAIL=create:a.txt          the operation returns an error without any effect
//	PREFIX_FAIL=create-done:a.txt     the operation takes effect and returns an error
//	PREFIX_FAIL=create-read:a.txt     the same, with an error about reading the object back
//	PREFIX_CRASH=update:*             the process exits without a response (exit status 3)
//	PREFIX_HANG=delete:b/*            the operation blocks until the engine stops the provider
//	PREFIX_STUCK=delete:b/*           the operation blocks until the process is killed
//	PREFIX_DELAY_MS=create:*=50       the operation takes 50 ms longer, even if the provider is stopped; a number
//	                                  alone applies to every create, update and delete
//	PREFIX_RUN=create-done:a.txt      a shell runs the command in PREFIX_COMMAND; ENGINE_PID is the parent of the provider
//	PREFIX_LOG=/tmp/calls             each operation appends "begin OP NAME" and "end OP NAME" or "fail OP NAME"
//
// All variables except LOG and COMMAND are comma-separated lists of rules OPERATION:NAME. An
// operation is * or one of the operations in the provider's documentation. The suffix -done means
// that the fault occurs after the operation has succeeded. A name is a pattern of path.Match; *
// alone matches every name, including slashes.
//
// When a process starts, it appends a line with the name of its provider to the file named by
// PROVIDER_STARTS.
//
// Invariants: without these variables, operations are unchanged. An invalid rule is an error.
package faults
