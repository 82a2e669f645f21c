package moduletest

import (
	"context"

	"tofu/internal/configs"
	"tofu/internal/engine"
	"tofu/internal/states"
)

// Runner executes a suite.
type Runner struct {
	Suite *Suite
	// Env is the environment of operations. The runner sets the fields Mocks and RootModule itself.
	Env engine.Env
	// Defer lets runs defer changes that can't be planned yet. Runs that apply then plan and apply
	// again until nothing is deferred.
	Defer bool
	// Minimal makes runs read only the objects that they would change, and those whose values these
	// changes read.
	Minimal bool
	// Variables are values from the command line and other sources outside of test files. Files and
	// runs override them.
	Variables map[string]configs.Given
	// Workers is the number of parallel runs that are executed at the same time; 0 means 10.
	Workers int
	// Observe receives events. Runs that are executed at the same time call it concurrently.
	Observe func(Event)
	// Keep stores the state of objects that could not be destroyed and returns the name of its
	// file. It is called once for each such state.
	Keep func(*states.State) (string, error)
	// Open opens the state of a run with a backend block. It locks and reads the state.
	Open func(context.Context, *configs.Backend) (Stored, error)
}

// Stored is a state that is kept between executions of a file.
type Stored interface {
	State() *states.State // the state that was read; it must not be changed
	Store(context.Context, *states.State) error
	Close() error // releases the lock
}

// Run executes all files. It reports whether all runs passed and all objects were destroyed.
func (r *Runner) Run(ctx context.Context) bool {
	begun := Begun{Runs: make(map[string][]string, len(r.Suite.Files))}
	for _, file := range r.Suite.Files {
		var names []string
		for _, run := range file.Runs {
			names = append(names, run.Name)
		}
		begun.Runs[file.Name] = names
	}
	r.Observe(begun)
	ended, clean := Ended{Status: Pass}, true
	for _, file := range r.Suite.Files {
		f := newFileRun(r, file)
		f.execute(ctx, &ended)
		clean = f.cleanUp(ctx) && clean
	}
	r.Observe(ended)
	return clean && ended.Status == Pass
}

// stopped reports whether c is closed. If it is, nothing new may start.
func stopped(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// fileRun is the execution of one test file.
type fileRun struct {
	*Runner
	file    *configs.TestFile
	modules map[stateKey]*moduleState
	order   int // number of runs that changed a state
	// outputs holds the outputs of runs so far, by run name. Those of runs that only planned can be unknown.
	outputs   map[string]outputs
	validated map[*subject]bool
	functions functionTable
}

func newFileRun(r *Runner, file *configs.TestFile) *fileRun {
	return &fileRun{
		Runner: r, file: file, modules: map[stateKey]*moduleState{}, outputs: map[string]outputs{},
		validated: map[*subject]bool{}, functions: newFunctionTable(),
	}
}

// execute executes the runs of the file until one of them has an error, and reports the results.
func (f *fileRun) execute(ctx context.Context, ended *Ended) {
	status := Skip // the file's status if all runs are skipped
	if len(f.file.Runs) == 0 {
		status = Pass
	}
	var results []RunDone
	for rest := f.file.Runs; len(rest) > 0; {
		batch := f.next(rest)
		rest = rest[len(batch):]
		for _, done := range f.executeAll(ctx, batch, status != Error && !stopped(f.Env.Stop)) {
			if done.Status != Skip {
				status = max(status, done.Status)
			}
			ended.count(done.Status)
			results = append(results, done)
		}
	}
	f.Observe(FileDone{Path: f.file.Name, Status: status})
	for _, done := range results {
		f.Observe(done)
	}
}
