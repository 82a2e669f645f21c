package command

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"runtime/pprof"

	"tofu/internal/otlp"
	"tofu/internal/session"
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

// measure starts the measurements that the options and the environment request for a command. The
// returned function ends them and prints the results. It must be called once, with the error of the
// command or nil.
func measure(s *session.Session, f measureFlags, command string) (end func(error), err error) {
	endProfile, err := startProfile(cmp.Or(f.Profile, s.Env(cpuProfileEnv)), s.Err)
	if err != nil {
		return nil, err
	}
	exporter, err := otlp.New(s.Env, version.Engine(), s.Logs.Core)
	if err != nil {
		endProfile()
		return nil, tfdiags.Errorf("Tracing can't be set up",
			"%s Unset OTEL_TRACES_EXPORTER to run without tracing.", tfdiags.Sentence(err))
	}
	if f.Timings || exporter != nil {
		s.Timings = timings.New()
	}
	endTrace := func(error) {}
	if exporter != nil {
		s.Timings.Trace(exporter.Trace(), exporter.Span)
		endTrace = s.Timings.Command("tofu "+command, exporter.Parent())
	}
	return func(problem error) {
		endProfile()
		if f.Timings {
			s.Timings.Report(s.Err)
		}
		endTrace(problem)
		if exporter != nil {
			sendTrace(s, exporter)
		}
	}, nil
}

// sendTrace sends the rest of a trace. A second interrupt cancels it.
func sendTrace(s *session.Session, exporter *otlp.Exporter) {
	ctx, cancel := s.Interrupts.Context(context.Background())
	defer cancel()
	if err := exporter.Close(terminal.UntilAbort(ctx)); err != nil {
		s.Logs.Core.Warn("sending the trace", "error", err)
		fmt.Fprintln(s.Err, "The trace is incomplete:", err)
	}
}

// startProfile starts to write a CPU profile to the file at path, unless path is "". The returned
// function ends the profile and reports errors to errs.
func startProfile(path string, errs io.Writer) (end func(), err error) {
	if path == "" {
		return func() {}, nil
	}
	file, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(file)
		if err != nil {
			file.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("writing a CPU profile (-profile or %s): %w", cpuProfileEnv, err)
	}
	return func() {
		pprof.StopCPUProfile()
		if err := file.Close(); err != nil {
			fmt.Fprintln(errs, "The CPU profile is incomplete:", err)
		}
	}, nil
}
