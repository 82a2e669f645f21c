package command

import (
	"context"
	"fmt"
	"os"
	"runtime/pprof"

	"tofu/internal/otlp"
	"tofu/internal/terminal"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
	"tofu/internal/version"
)

// cpuProfileEnv is the environment variable that, like -profile, names a file for a CPU
// profile.
const cpuProfileEnv = "TOFU_CPU_PROFILE"

// measureFlags are the options for timings and profiles. They may come before any command or
// among its options.
type measureFlags struct {
	Profile string
	Timings bool
}

// add declares the options for a command. They have no usage text, because the global help
// describes them.
func (f *measureFlags) add(fs *options) {
	fs.StringVar(&f.Profile, "profile", f.Profile, "")
	fs.BoolVar(&f.Timings, "timings", f.Timings, "")
}

// measure starts the measurements that the options and the environment request for a command.
// The returned function ends them and prints the results once. Its argument is the error of the
// command.
func (a *App) measure(f measureFlags, command string) (end func(error), err error) {
	endProfile, err := a.profile(f.Profile)
	if err != nil {
		return nil, err
	}
	exporter, err := otlp.New(a.Env, version.Own, a.Logs.Core)
	if err != nil {
		endProfile()
		return nil, tfdiags.Errorf("Tracing can't be set up",
			"%s. Without OTEL_TRACES_EXPORTER nothing is traced.", err)
	}
	if f.Timings || exporter != nil {
		a.Timings = timings.New()
	}
	endTrace := func(error) {}
	if exporter != nil {
		a.Timings.Trace(exporter.Trace(), exporter.Span)
		endTrace = a.Timings.Command("tofu "+command, exporter.Parent())
	}
	return func(problem error) {
		endProfile()
		if f.Timings {
			a.Timings.Report(a.Err)
		}
		endTrace(problem)
		if exporter != nil {
			a.endTrace(exporter)
		}
	}, nil
}

// endTrace sends the rest of a trace. A second interrupt cancels it.
func (a *App) endTrace(exporter *otlp.Exporter) {
	ctx, cancel := a.Interrupts.Context(context.Background())
	defer cancel()
	if err := exporter.Close(terminal.UntilAbort(ctx)); err != nil {
		a.Logs.Core.Warn("sending the trace", "error", err)
		fmt.Fprintln(a.Err, "The trace is incomplete:", err)
	}
}

// profile starts a CPU profile if one is requested. The returned function ends it.
func (a *App) profile(path string) (end func(), err error) {
	if path == "" {
		path = a.Env(cpuProfileEnv)
	}
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err == nil {
		if err = pprof.StartCPUProfile(file); err != nil {
			file.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("writing a CPU profile (-profile or %s): %w", cpuProfileEnv, err)
	}
	return func() {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			fmt.Fprintln(a.Err, "The CPU profile is incomplete:", err)
		}
	}, nil
}
