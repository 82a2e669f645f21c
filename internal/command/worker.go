package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"tofu/internal/tfdiags"
	"tofu/internal/version"
	"tofu/internal/workers"
)

var cmdWorker = &Command{
	Name: "worker", Own: true, Short: "Process root modules that \"tofu roots\" puts in a queue",
	Long: `
Takes root modules from the queue in a PostgreSQL database and plans or applies
them, or looks for drift, in processes of their own, until it is interrupted.
An interrupt lets running root modules end; a second one tells their operations
to stop.

A worker needs the credentials and the network of its zone. It gets the
configuration from the queue, and packages from where its CLI configuration says.
It takes the root modules whose labels in roots.tofu.hcl it has.`,
	New: with(func(f *workerCommandFlags, fs *options) {
		f.viewFlags.add(fs)
		f.addAddress(fs, "The `address` of the queue, such as postgres://USER@HOST/DATABASE. The default is in "+queueEnv+".")
		fs.Func("labels", "The `labels` of this worker, such as zone=eu,account=prod.", func(text string) (err error) {
			f.Labels, err = workers.ReadLabels(text)
			return err
		})
		f.Jobs = runtime.GOMAXPROCS(0)
		fs.Func("jobs", "Process at most `n` root modules at the same time (by default, the number of processors).",
			func(text string) error {
				n, err := strconv.Atoi(text)
				if err != nil || n < 1 {
					return errors.New("must be a positive whole number")
				}
				f.Jobs = n
				return nil
			})
		f.Lease = workers.DefaultLease
		fs.Func("lease", fmt.Sprintf("Give up running root modules when the database could not be reached for this "+
			"`time` (default %s). Another worker then takes them.", f.Lease), func(text string) (err error) {
			if f.Lease, err = time.ParseDuration(text); err == nil && f.Lease < workers.MinLease {
				err = fmt.Errorf("must be at least %s", workers.MinLease)
			}
			return err
		})
		fs.StringVar(&f.Dir, "dir", "", "Keep configurations and what they install in the directory at `path`.")
		fs.StringVar(&f.Metrics, "metrics", "", "Serve metrics for Prometheus at this `address`, such as 127.0.0.1:9464.")
	}, runWorker),
	Sub: []*Command{cmdWorkerTask},
}

type workerCommandFlags struct {
	viewFlags
	addressFlags
	Labels  []string
	Jobs    int
	Dir     string
	Metrics string
	Lease   time.Duration
}

func runWorker(ctx context.Context, app *App, f *workerCommandFlags, args []string) error {
	if err := noArguments(args); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	dir, err := f.directory()
	if err != nil {
		return err
	}
	q, err := f.open(ctx, app)
	if err != nil {
		return err
	}
	defer q.Close()
	host, _ := os.Hostname()
	w := &workers.Worker{Queue: q, ID: workers.NewWorkerID(cmp.Or(host, "worker")), Host: host, Program: version.Build(),
		Labels: f.Labels, Jobs: f.Jobs, Lease: f.Lease, Dir: dir, Metrics: &workers.Metrics{},
		Say: func(format string, args ...any) { app.Say("%s", fmt.Sprintf(format, args...)) },
		Command: func() *exec.Cmd {
			cmd := exec.Command(program, "worker", "task")
			cmd.Env = withoutQueue(app.Environ)
			return cmd
		}}
	end, err := f.serveMetrics(w.Metrics)
	if err != nil {
		return err
	}
	defer end()
	app.Interrupts.OnInterrupt(func(count int) {
		if count == 1 {
			app.Say("No new root modules are taken, and running ones are finished. Another interrupt tells their " +
				"operations to stop.")
		}
	}, app.printFailure)
	app.Say("Worker %s takes root modules.", w.ID)
	return w.Run(context.WithoutCancel(ctx), app.Interrupts.Stop, app.Interrupts.Kill)
}

// withoutQueue returns an environment without what only workers and callers need.
func withoutQueue(environ []string) (out []string) {
	for _, entry := range environ {
		if len(entry) <= len(queueEnv) || entry[:len(queueEnv)+1] != queueEnv+"=" {
			out = append(out, entry)
		}
	}
	return out
}

// directory returns the directory for configurations, in which it can write. It makes it.
func (f *workerCommandFlags) directory() (string, error) {
	dir := f.Dir
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			base = os.TempDir()
		}
		dir = filepath.Join(base, "tofu", "worker")
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		var probe string
		if probe, err = os.MkdirTemp(dir, ".probe-"); err == nil {
			err = os.Remove(probe)
		}
	}
	if err != nil {
		return "", tfdiags.Errorf("The directory of the worker can't be used", "%s To use another one: -dir=PATH",
			tfdiags.Sentence(err))
	}
	return dir, nil
}

// serveMetrics serves the metrics of a worker, until the returned function is called.
func (f *workerCommandFlags) serveMetrics(m *workers.Metrics) (end func(), err error) {
	if f.Metrics == "" {
		return func() {}, nil
	}
	listener, err := net.Listen("tcp", f.Metrics)
	if err != nil {
		return nil, fmt.Errorf("serving metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		_, _ = m.WriteTo(w)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	return func() { _ = server.Close() }, nil
}
