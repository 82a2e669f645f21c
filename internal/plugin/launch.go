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
	startTimeout = time.Minute      // until the handshake
	closeTimeout = 3 * time.Second  // for an orderly end, before the process is killed
	killTimeout  = 2 * time.Second  // for the end of a killed process
	stopTimeout  = 10 * time.Second // for the response to a stop request
)

// Launch is how to start a provider.
type Launch struct {
	Provider addrs.Provider
	Exec     string // executable of the plugin
	Args     []string
	Env      []string // nil for the environment of this process
	WorkDir  string   // "" for the working directory of this process

	// Reattach is set for a provider that already runs. Exec is then not used.
	Reattach *Reattach

	// PackageHash identifies the content of the package, under which its schema is cached in
	// CacheDir. The schema is not cached if either is empty.
	PackageHash string
	CacheDir    string
	// Schema is the schema from another process of the same package, or nil if it is not known yet.
	Schema *providers.Schema

	// Log receives the logs and output of the plugin. Optional.
	Log *slog.Logger
	// NoTLS disables encryption of the connection, for debugging.
	NoTLS bool
}

// handshake identifies this program to plugins.
var handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  4, // for plugins that do not negotiate
	MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
	MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
}

// Start starts a provider, or attaches to it. ctx limits the start, not the lifetime of the
// provider.
func Start(ctx context.Context, l Launch) (providers.Interface, error) {
	config, tail := clientConfig(newLogger(l.Log, "provider", l.Provider.String()), 5, 6)
	if l.Reattach != nil {
		return attach(config, l)
	}
	p, conn, err := run(ctx, config, tail, l)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("starting provider %s: %w", l.Provider, ctx.Err())
	case err != nil:
		return nil, startError(l, err, tail)
	}
	return newClient(l, p, conn, p.client.NegotiatedVersion()), nil
}

// clientConfig returns the configuration of go-plugin for any plugin.
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
		GRPCDialOptions: []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage),
			grpc.MaxCallSendMsgSize(maxMessage))},
		Logger:       log,
		Stderr:       tail,
		SyncStdout:   log.writer("stdout"),
		SyncStderr:   log.writer("stderr"),
		StartTimeout: startTimeout,
		SkipHostEnv:  true,
	}, tail
}

// run starts the process of a plugin and connects to it. After an error the process has ended. ctx
// limits the start, not the lifetime of the process.
func run(
	ctx context.Context, config *goplugin.ClientConfig, tail *stderrTail, l Launch,
) (*process, *grpc.ClientConn, error) {
	life, kill := context.WithCancel(context.Background())
	config.RunnerFunc = func(_ hclog.Logger, of *exec.Cmd, tmp string) (pluginrunner.Runner, error) {
		path := l.Exec
		if abs, err := filepath.Abs(path); l.WorkDir != "" && err == nil {
			path = abs // a relative one would begin in WorkDir
		}
		cmd := exec.CommandContext(life, path, l.Args...)
		cmd.Dir = l.WorkDir
		cmd.Env, cmd.Stdin = append(environment(l, config.Logger.GetLevel()), of.Env...), of.Stdin
		return newRunner(cmd, tmp)
	}
	config.AutoMTLS = !l.NoTLS
	p := &process{client: goplugin.NewClient(config), kill: kill, tail: tail}

	cancelStart := context.AfterFunc(ctx, kill)
	rpc, err := p.client.Client()
	if !cancelStart() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		p.close()
		return nil, nil, err
	}
	return p, rpc.(*goplugin.GRPCClient).Conn, nil
}

func startError(l Launch, err error, tail *stderrTail) error {
	text := strings.TrimSpace(err.Error())
	if strings.Contains(text, "incompatible API version") {
		err = fmt.Errorf("the plugin supports neither protocol version 5 nor 6; use a version of the "+
			"provider that does (%s)", text)
	}
	if words := tail.panicText(); words != "" {
		err = fmt.Errorf("%w\n\n%s", err, words)
	}
	return fmt.Errorf("starting provider %s (%s): %w", l.Provider, l.Exec, err)
}

// environment returns the environment of a plugin: that of this process, with log levels under the
// names that plugins know. By default, plugins write all log lines, which takes a quarter of the
// processor time for small objects. So log levels that this program doesn't log are disabled.
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

// pluginLogs are the environment variables with the log levels of the libraries of plugins. The
// variable of a provider's own log ends with the provider's name.
var pluginLogs = []string{"TF_LOG_SDK", "TF_LOG_SDK_FRAMEWORK", "TF_LOG_SDK_HELPER_RESOURCE",
	"TF_LOG_SDK_HELPER_SCHEMA", "TF_LOG_SDK_MUX", "TF_LOG_SDK_PROTO"}

// process is the process of a plugin. close ends it.
type process struct {
	client *goplugin.Client
	kill   context.CancelFunc // kills the process; nil if attached
	tail   *stderrTail
}

// close ends the process, and kills it if it does not end. An attached process continues.
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

// exited reports whether the process has ended. It waits a moment, because a connection breaks
// before the end of its process is noticed.
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
