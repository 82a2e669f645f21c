package command

import (
	"flag"
	"fmt"
	"os"
	"runtime/pprof"

	"tofu/internal/timings"
)

// cpuProfileEnv names a file for a CPU profile, as -profile does.
const cpuProfileEnv = "TOFU_CPU_PROFILE"

// measureFlags ask how long things take. They may stand before any command and among the options of each.
type measureFlags struct {
	Profile string
	Timings bool
}

// add declares the options for a command. They have no usage text, since the list of global options has them.
func (f *measureFlags) add(fs *flag.FlagSet) {
	fs.StringVar(&f.Profile, "profile", f.Profile, "")
	fs.BoolVar(&f.Timings, "timings", f.Timings, "")
}

// measure begins what the options ask for. The function that it gives ends it and prints what was found, once.
func (a *App) measure(f measureFlags) (end func(), err error) {
	path := f.Profile
	if path == "" {
		path = a.Env(cpuProfileEnv)
	}
	var profile *os.File
	if path != "" {
		if profile, err = os.Create(path); err == nil {
			err = pprof.StartCPUProfile(profile)
		}
		if err != nil {
			return func() {}, fmt.Errorf("writing a CPU profile (-profile or %s): %w", cpuProfileEnv, err)
		}
	}
	if f.Timings {
		a.timings = timings.New()
	}
	return func() {
		if profile != nil {
			pprof.StopCPUProfile()
			if err := profile.Close(); err != nil {
				fmt.Fprintln(a.Err, "The CPU profile is incomplete:", err)
			}
		}
		if a.timings != nil {
			a.timings.Report(a.Err)
		}
	}, nil
}
