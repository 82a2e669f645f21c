package plugin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
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
	startTimeout = time.Minute      // until the handshake is printed
	closeTimeout = 3 * time.Second  // for an orderly end, then the process is killed
	killTimeout  = 2 * time.Second  // for the killed process to go away
	stopTimeout  = 10 * time.Second // for the answer to the request to stop
)

// Launch says how to start a provider.
type Launch struct {
	Provider addrs.Provider
	Exec     string // the plugin's executable
	Args     []string
	Env      []string // nil: this process's environment

	// Reattach is set for a provider that runs already; Exec is not used then.
	Reattach *Reattach

	// PackageHash names the package's content, so that its schema can be kept in CacheDir. Empty for either: it isn't kept.
	PackageHash string
	CacheDir    string
	// Schema is the schema as another process of the same package gave it; nil when it isn't known yet.
	Schema *providers.Schema

	// Log gets what the plugin logs and prints; nil for nowhere.
	Log *slog.Logger
	// NoTLS leaves out the encryption of the connection, for looking at it.
	NoTLS bool
}

// handshake is what tells a plugin that it was started as one.
var handshake = goplugin.HandshakeConfig{
	ProtocolVersion:  4, // only for plugins that can't negotiate
	MagicCookieKey:   "TF_PLUGIN_MAGIC_COOKIE",
	MagicCookieValue: "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2",
}

// Start starts (or attaches to) a provider and shakes hands with it; ctx bounds the start, not the provider's life.
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

// clientConfig is what go-plugin needs to know of any plugin.
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
		GRPCDialOptions:  []grpc.DialOption{grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage))},
		Logger:           log,
		Stderr:           tail,
		SyncStdout:       log.writer("stdout"),
		SyncStderr:       log.writer("stderr"),
		StartTimeout:     startTimeout,
		SkipHostEnv:      true,
	}, tail
}

// run starts the plugin's process and connects to it. With an error the process is gone; ctx bounds the start, not the process's life.
func run(ctx context.Context, config *goplugin.ClientConfig, tail *stderrTail, l Launch) (*process, *grpc.ClientConn, error) {
	life, kill := context.WithCancel(context.Background())
	config.RunnerFunc = func(_ hclog.Logger, of *exec.Cmd, tmp string) (pluginrunner.Runner, error) {
		cmd := exec.CommandContext(life, l.Exec, l.Args...)
		cmd.Env, cmd.Stdin = append(environment(l.Env), of.Env...), of.Stdin
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
		err = fmt.Errorf("the plugin speaks none of the protocol versions 5 and 6; another version of the provider may (%s)", text)
	}
	if words := tail.panicText(); words != "" {
		err = fmt.Errorf("%w\n\n%s", err, words)
	}
	return fmt.Errorf("starting provider %s (%s): %w", l.Provider, l.Exec, err)
}

// environment is what a plugin finds around it: what this process finds, with log levels under the names that plugins know.
func environment(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	out := append([]string(nil), env...)
	for _, entry := range env {
		if rest, ok := strings.CutPrefix(entry, "TOFU_LOG"); ok {
			out = append(out, "TF_LOG"+rest)
		}
	}
	return out
}

// process is a plugin's process. Its life ends with close.
type process struct {
	client *goplugin.Client
	kill   context.CancelFunc // at once and by force; nil for a process that was attached to
	tail   *stderrTail
}

// close ends the process, by force when it doesn't end by itself. A process that was attached to goes on.
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

// exited tells whether the process is gone, with a short wait: a connection breaks a moment before its process is seen to end.
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
