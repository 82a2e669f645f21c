package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	pluginrunner "github.com/hashicorp/go-plugin/runner"
	"google.golang.org/grpc"

	"tofu/internal/addrs"
	"tofu/internal/providers"
)

const (
	maxMessage   = 256 << 20        // bytes; the largest known schemas take 40 MB
	window       = 4 << 20          // bytes that a plugin may send ahead; if not set, gRPC measures it with pings
	startTimeout = time.Minute      // limit for the time from the start to the handshake
	closeTimeout = 3 * time.Second  // time that a process has to end by itself before it is killed
	killTimeout  = 2 * time.Second  // limit for the time that a killed process takes to end
	stopTimeout  = 10 * time.Second // limit for the time until the response to a stop request
)

// Launch says how to start a provider.
type Launch struct {
	Provider addrs.Provider
	Exec     string // path of the plugin's executable; unused with Reattach
	Args     []string
	Env      []string // nil to use the environment of this process
	WorkDir  string   // "" to use the working directory of this process

	// Reattach is set if the provider is already running. No process is started then.
	Reattach *Reattach

	// PackageHash identifies the content of the package. The schema is cached in CacheDir under
	// this hash. If PackageHash or CacheDir is empty, the schema is not cached.
	PackageHash string
	CacheDir    string
	// Schema is the schema received from another process of the same package, or nil if it is not
	// known yet.
	Schema *providers.Schema

	// Log receives the logs and output of the plugin. It may be nil.
	Log *slog.Logger
	// NoTLS disables encryption of the connection, for debugging.
	NoTLS bool
}

// handshake identifies this program to plugins.
var handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  4, // version of plugins that don't negotiate
	MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
	MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
}

// Start starts a provider, or attaches to one that is already running. ctx limits the start, not
// the lifetime of the provider. Errors don't name the provider.
func Start(ctx context.Context, l Launch) (providers.Interface, error) {
	config, tail := clientConfig(newLogger(l.Log, "provider", l.Provider.String()), 5, 6)
	if l.Reattach != nil {
		return attach(config, l)
	}
	p, conn, err := run(ctx, config, tail, l)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, startError(l, err, p)
	}
	return newClient(l, p, conn, p.client.NegotiatedVersion()), nil
}

// clientConfig returns the configuration that go-plugin needs for any plugin.
func clientConfig(log *logger, versions ...int) (*goplugin.ClientConfig, *stderrTail) {
	tail := &stderrTail{}
	sets := make(map[int]goplugin.PluginSet, len(versions))
	for _, v := range versions {
		sets[v] = goplugin.PluginSet{}
	}
	return &goplugin.ClientConfig{
		HandshakeConfig:  handshake,
		VersionedPlugins: sets,
		AllowedProtocols: []goplugin.Protocol{goplugin.ProtocolGRPC},
		GRPCDialOptions: []grpc.DialOption{
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
			grpc.WithStaticStreamWindowSize(window), grpc.WithStaticConnWindowSize(window),
			grpc.WithStatsHandler(sentNotes{}),
		},
		Logger:       log,
		Stderr:       tail,
		SyncStdout:   log.writer("stdout"),
		SyncStderr:   log.writer("stderr"),
		StartTimeout: startTimeout,
		SkipHostEnv:  true,
	}, tail
}

// run starts the process of a plugin and connects to it. If it returns an error, the process has
// ended, and is returned too if there was one. ctx limits the start, not the lifetime of the process.
func run(
	ctx context.Context, config *goplugin.ClientConfig, tail *stderrTail, l Launch,
) (*process, *grpc.ClientConn, error) {
	env := environment(l, config.Logger.GetLevel())
	if !l.NoTLS {
		identity, certificate, err := newIdentity()
		if err != nil {
			return nil, nil, fmt.Errorf("creating a certificate: %w", err)
		}
		config.TLSConfig, env = identity, append(env, certEnv+"="+certificate)
	}
	life, kill := context.WithCancel(context.Background())
	p := &process{kill: kill, tail: tail}
	config.RunnerFunc = func(_ hclog.Logger, of *exec.Cmd, tmp string) (pluginrunner.Runner, error) {
		path := l.Exec
		abs, err := filepath.Abs(path)
		if l.WorkDir != "" && err == nil {
			path = abs // a relative path would be relative to WorkDir
		}
		cmd := exec.CommandContext(life, path, l.Args...)
		cmd.Dir = l.WorkDir
		cmd.Env, cmd.Stdin = append(env, of.Env...), of.Stdin
		p.runner, err = newRunner(cmd, tmp)
		return p.runner, err
	}
	p.client = goplugin.NewClient(config)

	cancelStart := context.AfterFunc(ctx, kill)
	rpc, err := p.client.Client()
	if !cancelStart() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		p.close()
		return p, nil, err
	}
	return p, rpc.(*goplugin.GRPCClient).Conn, nil
}

func startError(l Launch, err error, p *process) error {
	text := strings.TrimSpace(err.Error())
	status, words := p.lastWords()
	if strings.HasPrefix(text, "Unrecognized remote plugin message") && status+words != "" {
		text = strings.ReplaceAll(text, p.runner.Diagnose(context.Background()), "")
		err = fmt.Errorf("%s: the process ended%s before it was ready.%s", strings.Join(strings.Fields(text), " "),
			status, words)
	}
	if strings.Contains(text, "incompatible API version") {
		err = fmt.Errorf("the plugin supports neither protocol version 5 nor 6; use a version of the "+
			"provider that does (%s)", text)
	}
	if words := p.panicText(); words != "" {
		err = fmt.Errorf("%w\n\n%s", err, words)
	}
	return fmt.Errorf("%s: %w", l.Exec, err)
}

// environment returns the environment of a plugin. It is l.Env or, if that is nil, the environment
// of this process, plus variables that set the log levels of plugin libraries. Each variable
// TOFU_LOG… is also passed as TF_LOG…. By default, plugins write all log lines, which takes a
// quarter of the processor time for small objects. Therefore levels that this program doesn't log
// are disabled.
func environment(l Launch, level hclog.Level) []string {
	out := l.Env
	if out == nil {
		out = os.Environ()
	}
	out = slices.Clone(out)
	set := map[string]bool{}
	for _, entry := range out {
		if rest, ok := strings.CutPrefix(entry, "TOFU_LOG"); ok {
			entry = "TF_LOG" + rest
			out = append(out, entry)
		}
		name, _, _ := strings.Cut(entry, "=")
		set[name] = true
	}
	for _, name := range append(pluginLogs, "TF_LOG_PROVIDER_"+strings.ReplaceAll(l.Provider.Type, "-", "_")) {
		name = strings.ToUpper(name)
		if !set[name] {
			out = append(out, name+"="+level.String())
		}
	}
	return out
}

// pluginLogs lists the environment variables that set the log levels of plugin libraries. The
// variable for a provider's own log has the provider's name appended.
var pluginLogs = []string{"TF_LOG_SDK", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_SDK_HELPER_RESOURCE",
	"TF_LOG_SDK_HELPER_SCHEMA", "TF_LOG_SDK_MUX", "TF_LOG_SDK_PROTO"}

// process is the process of a plugin. close ends it.
type process struct {
	client *goplugin.Client
	runner *runner            // nil if attached to a running process
	kill   context.CancelFunc // kills the process; nil if attached to a running process
	tail   *stderrTail
}

// close ends the process, and kills it if it doesn't end in time. If the process was only attached
// to, it keeps running.
func (p *process) close() error {
	if p.kill == nil {
		return nil
	}
	defer p.kill()
	done := make(chan struct{})
	go func() {
		p.client.Kill()
		close(done)
	}()
	for _, limit := range []time.Duration{closeTimeout, killTimeout} {
		select {
		case <-done:
			return nil
		case <-time.After(limit):
			p.kill()
		}
	}
	return errors.New("the process did not end after it was killed")
}

// lastWords returns how the process ended, such as " with exit status 3", and a paragraph with the last
// lines that it wrote to standard error. Each is "" if it isn't known. A panic is not included.
func (p *process) lastWords() (status, words string) {
	if p == nil || p.runner == nil {
		return "", ""
	}
	select {
	case <-p.runner.ended:
		exit, failed := errors.AsType[*exec.ExitError](p.runner.status)
		ours := p.runner.killed.Load() && exit.Error() == "signal: killed"
		if failed && !ours { // the text is an exit status or a signal
			status = " with " + exit.Error()
		}
	default:
	}
	if lines := p.tail.last(); len(lines) > 0 && p.tail.panicText() == "" {
		words = " Its last lines on standard error:\n\n    " + strings.Join(lines, "\n    ")
	}
	return status, words
}

// panicText returns the start of the stack trace that the plugin has printed, or "".
func (p *process) panicText() string {
	if p == nil {
		return ""
	}
	return p.tail.panicText()
}

// exited reports whether the process has ended. It waits a moment, because the connection breaks
// before this program notices the end of the process. If the process was only attached to, exited
// returns false.
func (p *process) exited() bool {
	if p.kill == nil {
		return false
	}
	for range 20 {
		if p.client.Exited() {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}
