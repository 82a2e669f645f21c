package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/grpc"

	"tofu/internal/depsfile"
	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
)

// Calls of the provisioner service, which only protocol version 5 has.
const (
	provisionerSchema   = "/tfplugin5.Provisioner/GetSchema"
	provisionerValidate = "/tfplugin5.Provisioner/ValidateProvisionerConfig"
	provisionerRun      = "/tfplugin5.Provisioner/ProvisionResource"
	provisionerStop     = "/tfplugin5.Provisioner/Stop"
)

// runStream describes the call that returns a stream of responses.
var runStream = &grpc.StreamDesc{StreamName: "ProvisionResource", ServerStreams: true}

// provisionerStopTimeout is how long a provisioner may take to stop.
const provisionerStopTimeout = 10 * time.Second

// Provisioner is a provisioner plugin. The first call starts its process. The process serves all
// further calls, which may be concurrent, until Close.
type Provisioner struct {
	typ, path string
	log       *slog.Logger

	mu      sync.Mutex // held while the process is being started
	process *process
	conn    *grpc.ClientConn
	schema  *providers.ResourceSchema
}

var provisionerName = regexp.MustCompile(`^terraform-provisioner-([^_.]+)(?:_v(\d[\w.+-]*?))?(?:_x\d+)?(?:\.exe)?$`)

// FindProvisioner searches directories for the plugin of a provisioner type. It uses the first
// directory that contains the plugin, and the newest version in this directory. It returns nil if
// no directory contains the plugin.
func FindProvisioner(dirs []string, typ string, log *slog.Logger) *Provisioner {
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // most of these directories don't exist
		}
		best, newest := "", depsfile.Version{}
		for _, e := range entries {
			m := provisionerName.FindStringSubmatch(e.Name())
			if m == nil || m[1] != typ || e.IsDir() {
				continue
			}
			version, err := depsfile.ParseVersion(m[2])
			if err != nil {
				// A plugin without a version in its name is treated as older than any version.
				version = depsfile.Version{}
			}
			if best == "" || depsfile.CompareVersions(version, newest) > 0 {
				best, newest = e.Name(), version
			}
		}
		if best == "" {
			continue
		}
		path := filepath.Join(dir, best)
		// A name without a slash would be searched for in PATH.
		if abs, err := filepath.Abs(path); err == nil {
			path = abs
		}
		return &Provisioner{typ: typ, path: path, log: log}
	}
	return nil
}

// Schema returns the schema of the provisioner block. It starts the plugin if necessary.
func (p *Provisioner) Schema() (*providers.ResourceSchema, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.schema != nil {
		return p.schema, nil
	}
	if p.process == nil {
		if err := p.start(); err != nil {
			return nil, err
		}
	}
	out := &tfplugin.GetProvisionerSchemaResponse{}
	if err := p.conn.Invoke(context.Background(), provisionerSchema, &tfplugin.GetProvisionerSchemaRequest{},
		out); err != nil {
		return nil, p.failed("asking for its schema", err)
	}
	if err := convertDiagnostics(out.Diagnostics).Err(); err != nil {
		return nil, err
	}
	block, err := schemaBlock(out.Provisioner, 5)
	if err != nil {
		return nil, p.failed("reading its schema", err)
	}
	p.schema = &providers.ResourceSchema{Block: block}
	return p.schema, nil
}

func (p *Provisioner) start() error {
	config, tail := clientConfig(newLogger(p.log, "provisioner", p.typ), 5)
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	process, conn, err := run(ctx, config, tail, Launch{Exec: p.path})
	if err != nil {
		return p.failed("starting", startError(Launch{Exec: p.path}, err, process))
	}
	p.process, p.conn = process, conn
	return nil
}

func (p *Provisioner) failed(doing string, err error) error {
	return fmt.Errorf("provisioner plugin %s: %s: %w", p.typ, doing, err)
}

// convertDiagnostics converts the diagnostics of a plugin.
func convertDiagnostics(in []*tfplugin.Diagnostic) tfdiags.Diagnostics {
	x := &exchange{}
	x.addDiagnostics(in)
	return x.diags
}

// encode encodes a configuration, which has the type of the provisioner block.
func (p *Provisioner) encode(config cty.Value) (*tfplugin.DynamicValue, error) {
	schema, err := p.Schema()
	if err != nil {
		return nil, err
	}
	raw, err := msgpack.Marshal(config, schema.Block.ImpliedType())
	if err != nil {
		return nil, p.failed("encoding its configuration", err)
	}
	return &tfplugin.DynamicValue{Msgpack: raw}, nil
}

// Validate checks a configuration, which may be partly unknown.
func (p *Provisioner) Validate(config cty.Value) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	value, err := p.encode(config)
	if err != nil {
		return diags.AppendError(err)
	}
	out := &tfplugin.ValidateProvisionerConfigResponse{}
	if err := p.conn.Invoke(context.Background(), provisionerValidate,
		&tfplugin.ValidateProvisionerConfigRequest{Config: value}, out); err != nil {
		return diags.AppendError(p.failed("validating its configuration", err))
	}
	return convertDiagnostics(out.Diagnostics)
}

// Run runs the provisioner. connection is null if there is no connection block. Each line of output
// is passed to out. If out is nil, nothing may be shown. When ctx ends, Run stops the plugin and
// waits for it for a limited time.
func (p *Provisioner) Run(
	ctx context.Context, config, connection cty.Value, out func(line string),
) tfdiags.Diagnostics {
	var diags tfdiags.Diagnostics
	in := &tfplugin.ProvisionResourceRequest{}
	var err error
	if in.Config, err = p.encode(config); err == nil {
		in.Connection, err = encodeConnection(connection)
	}
	if err != nil {
		return diags.AppendError(err)
	}
	calls, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(provisionerStopTimeout, cancel)
		_ = p.conn.Invoke(calls, provisionerStop, &tfplugin.StopProviderRequest{}, &tfplugin.StopProviderResponse{})
	})
	defer stop()
	stream, err := p.conn.NewStream(calls, runStream, provisionerRun)
	if err == nil {
		err = errors.Join(stream.SendMsg(in), stream.CloseSend())
	}
	for err == nil {
		answer := &tfplugin.ProvisionResourceResponse{}
		if err = stream.RecvMsg(answer); err != nil {
			break
		}
		if answer.Output != "" && out != nil {
			for line := range strings.Lines(answer.Output) {
				out(strings.TrimRight(line, "\r\n"))
			}
		}
		diags = diags.Append(convertDiagnostics(answer.Diagnostics)...)
	}
	if !errors.Is(err, io.EOF) {
		diags = diags.AppendError(p.failed("running", err))
	}
	return diags
}

// encodeConnection encodes a connection. Plugins receive it as a map of strings.
func encodeConnection(connection cty.Value) (*tfplugin.DynamicValue, error) {
	ty := cty.Map(cty.String)
	texts := cty.NullVal(ty)
	connection, _ = connection.UnmarkDeep()
	if !connection.IsNull() {
		attrs := connection.AsValueMap()
		for name, v := range attrs {
			text, err := convert.Convert(v, cty.String)
			if err != nil {
				return nil, fmt.Errorf("the connection's %s: %w", name, err)
			}
			attrs[name] = text
		}
		texts = cty.MapVal(attrs)
	}
	raw, err := msgpack.Marshal(texts, ty)
	if err != nil {
		return nil, fmt.Errorf("encoding the connection: %w", err)
	}
	return &tfplugin.DynamicValue{Msgpack: raw}, nil
}

// Close ends the plugin's process if it is running.
func (p *Provisioner) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil {
		return nil
	}
	process := p.process
	p.process, p.conn, p.schema = nil, nil, nil
	if err := process.close(); err != nil {
		return p.failed("ending", err)
	}
	return nil
}
