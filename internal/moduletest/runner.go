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
	// Env is what operations find around them. The runner sets its Mocks and RootModule itself.
	Env engine.Env
	// Variables are values from outside: weaker than those of files and runs.
	Variables map[string]configs.Given
	// Observe is told what happens.
	Observe func(Event)
	// Keep stores a state of objects that could not be destroyed, and gives the place. It is called once for each such state.
	Keep func(*states.State) (string, error)
}

// Run executes all files and tells whether everything passed and nothing is left over.
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

// stopped tells whether nothing new may be started.
func stopped(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// fileRun is the execution of one file.
type fileRun struct {
	*Runner
	file    *configs.TestFile
	modules map[string]*moduleState // by subject key
	order   int                     // of the last run that changed a state
	// outputs are what runs that applied gave, by name; planned names those that only planned.
	outputs   map[string]outputs
	planned   map[string]bool
	validated map[*subject]bool
	functions functionTable
}

func newFileRun(r *Runner, file *configs.TestFile) *fileRun {
	return &fileRun{
		Runner: r, file: file, modules: map[string]*moduleState{}, outputs: map[string]outputs{},
		planned:   map[string]bool{},
		validated: map[*subject]bool{}, functions: newFunctionTable(),
	}
}

// execute runs the file's runs until one has an error, and tells how they came out.
func (f *fileRun) execute(ctx context.Context, ended *Ended) {
	status := Skip // of nothing but runs that were left out
	if len(f.file.Runs) == 0 {
		status = Pass
	}
	var results []RunDone
	for _, run := range f.file.Runs {
		done := RunDone{Path: f.file.Name, Run: run.Name, Status: Skip}
		if status != Error && !stopped(f.Env.Stop) {
			e := &execution{fileRun: f, run: run, subject: f.Suite.subjects[run]}
			done = e.execute(ctx)
			status = max(status, done.Status)
		}
		ended.count(done.Status)
		results = append(results, done)
	}
	f.Observe(FileDone{Path: f.file.Name, Status: status})
	for _, done := range results {
		f.Observe(done)
	}
}
