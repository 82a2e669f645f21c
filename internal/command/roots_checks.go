package command

import (
	"context"

	"tofu/internal/configs"
)

var cmdRootsTest = &Command{
	Name: "test", Args: "[DIR...]", Short: "Run the tests of many root modules",
	Long: "Does what \"tofu test\" does in each root module below the directories that has test files.",
	New: with(func(f *rootsTestFlags, fs *options) {
		f.viewFlags.add(fs)
		f.addProgress(fs)
		f.varFlags.add(fs)
		fs.StringVar(&f.TestDirectory, "test-directory", configs.DefaultTestDirectory,
			"Look for test files in this `path` of each root module too.")
		fs.BoolVar(&f.Verbose, "verbose", false, "Print the plan or the state of each run.")
		f.addWorkers(fs)
		f.addSelect(fs)
	}, func(ctx context.Context, app *App, f *rootsTestFlags, args []string) error {
		return app.eachRoot(ctx, &f.selectFlags, args, f.Workers, "Testing", func(sub *App) error {
			one := f.testFlags
			return runTest(ctx, sub, &one)
		})
	}),
}

type rootsTestFlags struct {
	testFlags
	workerFlags
	selectFlags
}
