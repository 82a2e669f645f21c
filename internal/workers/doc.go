// Package workers distributes the root modules of a run over worker processes, through the job
// queue River in a PostgreSQL database.
//
// A caller enqueues a [Run]: a record with one task per root module. Tasks wait for the tasks of
// the root modules that they need. A task that waits for nothing more becomes a job of River. The
// job is only a ticket: it names the task and its fencing number. A [Worker] claims the task, hands
// it to a process that works on one task at a time (see [Serve]), and stores what happens: events,
// the outcome, the plan and the outputs. Callers follow a run with [Queue.Follow].
//
// The package knows nothing about configurations or plans. Plans, outputs and output for people
// are bytes that the process of a task may have encrypted.
//
// Invariants: a run, its tasks and their first jobs are stored in one transaction; so are the end of
// a task and the jobs that it makes possible. Every write of a worker compares the fencing number
// of its task, which grows when the lease of the worker has ended. A task ends once.
package workers
