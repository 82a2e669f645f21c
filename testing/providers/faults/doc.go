// Package faults makes a provider misbehave on purpose. It is used by the test
// providers of this module; the environment of the provider process says what
// goes wrong, and where:
//
//	PREFIX_FAIL=create:a.txt          the operation returns an error, having done nothing
//	PREFIX_FAIL=create-done:a.txt     the operation is done, and returns an error all the same
//	PREFIX_CRASH=update:*             the process ends without an answer (exit status 3)
//	PREFIX_HANG=delete:b/*            the operation waits until the engine asks the provider to stop
//	PREFIX_STUCK=delete:b/*           the operation waits until the process is killed
//	PREFIX_DELAY_MS=create:*=50       the operation takes 50 ms longer; a bare 50 means every create, update and delete;
//	                                  a stop does not cut it short
//	PREFIX_RUN=create-done:a.txt      a shell runs the command in PREFIX_COMMAND; ENGINE_PID is the parent of the provider
//	PREFIX_LOG=/tmp/calls             each operation appends "begin OP NAME" and "end OP NAME" (or "fail OP NAME")
//
// Each but LOG and COMMAND is a comma-separated list of rules OPERATION:NAME. An
// operation is * or one of those a provider's documentation lists, with -done
// for the moment after it succeeded. A name is a pattern of path.Match; a lone
// * matches every name, slashes included.
//
// Invariants: without these variables every operation runs exactly as written;
// a rule that cannot be parsed is an error, never ignored.
package faults
