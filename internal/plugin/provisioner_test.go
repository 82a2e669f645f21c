package plugin

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/grpc"

	"tofu/internal/plugin/tfplugin"
)

// serveProvisionerEnv is an environment variable that makes the test binary act as a provisioner
// plugin, which prints its configuration and connection.
const serveProvisionerEnv = "TOFU_TEST_SERVE_PROVISIONER"

type echoServer struct{ stop chan struct{} }

type echoPlugin struct {
	goplugin.NetRPCUnsupportedPlugin
}

func (echoPlugin) GRPCServer(_ *goplugin.GRPCBroker, s *grpc.Server) error {
	s.RegisterService(&echoService, &echoServer{stop: make(chan struct{})})
	return nil
}

func (echoPlugin) GRPCClient(context.Context, *goplugin.GRPCBroker, *grpc.ClientConn) (any, error) {
	return nil, fmt.Errorf("this side serves")
}

func serveProvisioner() {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: handshake, GRPCServer: goplugin.DefaultGRPCServer,
		VersionedPlugins: map[int]goplugin.PluginSet{5: {"provisioner": echoPlugin{}}},
	})
}

// unary returns the description of a call with one request and one response.
func unary[In, Out any](name string, answer func(*echoServer, *In) *Out) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name,
		Handler: func(srv any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			in := new(In)
			if err := decode(in); err != nil {
				return nil, err
			}
			return answer(srv.(*echoServer), in), nil
		}}
}

var echoType = cty.Object(map[string]cty.Type{"text": cty.String, "wait": cty.Bool})

var echoService = grpc.ServiceDesc{
	ServiceName: "tfplugin5.Provisioner", HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		unary("GetSchema",
			func(*echoServer, *tfplugin.GetProvisionerSchemaRequest) *tfplugin.GetProvisionerSchemaResponse {
				return &tfplugin.GetProvisionerSchemaResponse{Provisioner: &tfplugin.Schema{
					Block: &tfplugin.Schema_Block{Attributes: []*tfplugin.Schema_Attribute{
						{Name: "text", Type: []byte(`"string"`), Required: true},
						{Name: "wait", Type: []byte(`"bool"`), Optional: true},
					}}}}
			}),
		unary("ValidateProvisionerConfig",
			func(_ *echoServer,
				in *tfplugin.ValidateProvisionerConfigRequest) *tfplugin.ValidateProvisionerConfigResponse {
				v, err := msgpack.Unmarshal(in.Config.Msgpack, echoType)
				text := v.GetAttr("text")
				if err == nil && (!text.IsKnown() || text.AsString() != "bad") {
					return &tfplugin.ValidateProvisionerConfigResponse{}
				}
				return &tfplugin.ValidateProvisionerConfigResponse{
					Diagnostics: []*tfplugin.Diagnostic{{Severity: tfplugin.Diagnostic_ERROR, Summary: "Bad text"}}}
			}),
		unary("Stop", func(s *echoServer, _ *tfplugin.StopProviderRequest) *tfplugin.StopProviderResponse {
			close(s.stop)
			return &tfplugin.StopProviderResponse{}
		}),
	},
	Streams: []grpc.StreamDesc{{StreamName: "ProvisionResource", ServerStreams: true,
		Handler: func(srv any, stream grpc.ServerStream) error {
			in := &tfplugin.ProvisionResourceRequest{}
			if err := stream.RecvMsg(in); err != nil {
				return err
			}
			config, err := msgpack.Unmarshal(in.Config.Msgpack, echoType)
			if err != nil {
				return err
			}
			connection, err := msgpack.Unmarshal(in.Connection.Msgpack, cty.Map(cty.String))
			if err != nil {
				return err
			}
			host := "nowhere"
			if !connection.IsNull() {
				host = connection.Index(cty.StringVal("host")).AsString() + ":" +
					connection.Index(cty.StringVal("port")).AsString()
			}
			text := config.GetAttr("text").AsString()
			for _, line := range []string{"first", text + "\n" + host + "\n"} {
				if err := stream.SendMsg(&tfplugin.ProvisionResourceResponse{Output: line}); err != nil {
					return err
				}
			}
			if wait := config.GetAttr("wait"); !wait.IsNull() && wait.True() {
				<-srv.(*echoServer).stop
				return stream.SendMsg(
					&tfplugin.ProvisionResourceResponse{
						Diagnostics: []*tfplugin.Diagnostic{{Severity: tfplugin.Diagnostic_ERROR, Summary: "Stopped"}}})
			}
			return stream.SendMsg(
				&tfplugin.ProvisionResourceResponse{
					Diagnostics: []*tfplugin.Diagnostic{{Severity: tfplugin.Diagnostic_WARNING, Summary: "Done"}}})
		}}},
}

// echo installs the test binary as a provisioner plugin and returns its Provisioner.
func echo(t *testing.T) *Provisioner {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("plugins can't be links there")
	}
	t.Setenv(serveProvisionerEnv, "1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(self, filepath.Join(dir, "terraform-provisioner-echo_v1.0.0_x5")); err != nil {
		t.Fatal(err)
	}
	p := FindProvisioner([]string{"/nonexistent", dir}, "echo", nil)
	if p == nil {
		t.Fatal("the plugin was not found")
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func echoConfig(text cty.Value, wait bool) cty.Value {
	return cty.ObjectVal(map[string]cty.Value{"text": text, "wait": cty.BoolVal(wait)})
}

func TestProvisioner(t *testing.T) {
	p := echo(t)
	schema, err := p.Schema()
	if err != nil {
		t.Fatal(err)
	}
	if !schema.Block.ImpliedType().Equals(echoType) {
		t.Errorf("schema is %#v", schema.Block.ImpliedType())
	}
	for text, wrong := range map[string]bool{"good": false, "bad": true} {
		if got := p.Validate(echoConfig(cty.StringVal(text), false)).HasErrors(); got != wrong {
			t.Errorf("%s: errors %t", text, got)
		}
	}
	noErrors(t, p.Validate(echoConfig(cty.UnknownVal(cty.String), false)))

	connection := cty.ObjectVal(map[string]cty.Value{"host": cty.StringVal("h"), "port": cty.NumberIntVal(22),
		"agent": cty.NullVal(cty.Bool)})
	var mu sync.Mutex
	var lines []string
	out := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, line)
	}
	diags := p.Run(t.Context(), echoConfig(cty.StringVal("hello"), false), connection, out)
	if len(diags) != 1 || diags[0].Summary != "Done" {
		t.Errorf("diagnostics are %v", diags)
	}
	if want := []string{"first", "hello", "h:22"}; !slices.Equal(lines, want) {
		t.Errorf("printed %q, want %q", lines, want)
	}
	noErrors(t, p.Run(t.Context(), echoConfig(cty.StringVal("hidden"), false), cty.NullVal(cty.EmptyObject), nil))
}

func TestProvisionerStops(t *testing.T) {
	p := echo(t)
	ctx, cancel := context.WithCancel(t.Context())
	start := time.Now()
	diags := p.Run(ctx, echoConfig(cty.StringVal("x"), true), cty.NullVal(cty.EmptyObject), func(string) { cancel() })
	if err := diags.Err(); err == nil || !strings.Contains(err.Error(), "Stopped") {
		t.Errorf("diagnostics are %v", diags)
	}
	if took := time.Since(start); took > provisionerStopTimeout {
		t.Errorf("it took %s", took)
	}
}

func TestFindProvisioner(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	for _, path := range []string{
		first + "/terraform-provisioner-a_v1.9.0", first + "/terraform-provisioner-a_v1.10.0",
		first + "/terraform-provisioner-a_v1.2.0_x5",
		first + "/terraform-provider-b", first + "/terraform-provisioner-c.txt",
		second + "/terraform-provisioner-a_v9.0.0", second + "/terraform-provisioner-b.exe",
	} {
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for typ, want := range map[string]string{
		"a": first + "/terraform-provisioner-a_v1.10.0", "b": second + "/terraform-provisioner-b.exe", "c": "",
	} {
		got := ""
		if p := FindProvisioner([]string{first, second}, typ, nil); p != nil {
			got = p.path
		}
		if got != filepath.FromSlash(want) {
			t.Errorf("%s: found %q, want %q", typ, got, want)
		}
	}
	p := FindProvisioner([]string{first}, "a", nil)
	if _, err := p.Schema(); err == nil || !strings.Contains(err.Error(), "provisioner plugin a: starting") {
		t.Errorf("an empty file as plugin: %v", err)
	}
}
