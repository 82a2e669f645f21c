package plugin

import (
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/msgpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	"tofu/internal/plugin/tfplugin"
	"tofu/internal/providers"
)

// TestAnswers checks after which answers to ApplyResourceChange the outcome of the call is unknown.
func TestAnswers(t *testing.T) {
	ty := cty.Object(map[string]cty.Type{"name": cty.String})
	value := func(v cty.Value) *tfplugin.DynamicValue {
		raw, err := msgpack.Marshal(v, v.Type())
		if err != nil {
			t.Fatal(err)
		}
		return &tfplugin.DynamicValue{Msgpack: raw}
	}
	made := cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("a")})
	answer := func(m *tfplugin.ApplyResourceChangeResponse) func(*grpc.Server) (proto.Message, error) {
		return func(*grpc.Server) (proto.Message, error) { return m, nil }
	}
	failure := func(code codes.Code) func(*grpc.Server) (proto.Message, error) {
		return func(*grpc.Server) (proto.Message, error) { return nil, status.Error(code, "no") }
	}
	refusal := []*tfplugin.Diagnostic{{Severity: tfplugin.Diagnostic_ERROR, Summary: "Quota exceeded"}}
	for name, test := range map[string]struct {
		apply   func(*grpc.Server) (proto.Message, error)
		unknown bool
	}{
		"object":  {answer(&tfplugin.ApplyResourceChangeResponse{NewState: value(made)}), false},
		"refusal": {answer(&tfplugin.ApplyResourceChangeResponse{Diagnostics: refusal}), false},
		"refusal, null": {answer(&tfplugin.ApplyResourceChangeResponse{
			NewState: value(cty.NullVal(ty)), Diagnostics: refusal}), false},
		"undecodable": {answer(&tfplugin.ApplyResourceChangeResponse{
			NewState: &tfplugin.DynamicValue{Msgpack: []byte{0xc1}}}), true},
		"undecodable, with an error": {answer(&tfplugin.ApplyResourceChangeResponse{
			NewState: &tfplugin.DynamicValue{Json: []byte("{")}, Diagnostics: refusal}), true},
		"wrong type":        {answer(&tfplugin.ApplyResourceChangeResponse{NewState: value(cty.True)}), true},
		"internal error":    {failure(codes.Internal), true},
		"unknown error":     {failure(codes.Unknown), true},
		"too large":         {failure(codes.ResourceExhausted), true},
		"deadline exceeded": {failure(codes.DeadlineExceeded), true},
		"aborted":           {failure(codes.Aborted), true},
		"no such method":    {failure(codes.Unimplemented), false},
		"cut connection": {func(s *grpc.Server) (proto.Message, error) {
			go s.Stop()
			select {} // the process dies
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := oddProvider(t, test.apply)
			apply := func() providers.ApplyResponse {
				return p.ApplyResourceChange(t.Context(), providers.ApplyRequest{Type: "odd_thing", Prior: cty.NullVal(ty),
					Planned: made, Config: made, Meta: cty.NilVal})
			}
			resp := apply()
			if resp.Unanswered != test.unknown || test.unknown && !resp.Diagnostics.HasErrors() {
				t.Errorf("unanswered: %v, %v", resp.Unanswered, resp.Diagnostics.Err())
			}
			if name != "cut connection" {
				return
			}
			if resp := apply(); resp.Unanswered || !resp.Diagnostics.HasErrors() {
				t.Errorf("a call that was never sent: %v, %v", resp.Unanswered, resp.Diagnostics.Err())
			}
		})
	}
}

// TestNoGeneratedConfig checks that a configuration that the provider leaves out sets no argument.
func TestNoGeneratedConfig(t *testing.T) {
	p := oddProvider(t, nil)
	config, diags := p.GenerateConfig(t.Context(), "odd_thing", cty.ObjectVal(map[string]cty.Value{"name": cty.StringVal("a")}))
	noErrors(t, diags)
	if want := cty.ObjectVal(map[string]cty.Value{"name": cty.NullVal(cty.String)}); !config.RawEquals(want) {
		t.Errorf("got %#v", config)
	}
}

// oddProvider attaches to a provider that answers ApplyResourceChange with a function.
func oddProvider(t *testing.T, apply func(*grpc.Server) (proto.Message, error)) providers.Interface {
	t.Helper()
	var server *grpc.Server
	server = grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		called, _ := grpc.MethodFromServerStream(stream)
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		var out proto.Message
		var err error
		switch called[strings.LastIndex(called, "/")+1:] {
		case "GetProviderSchema":
			var schema []byte
			schema, err = proto.Marshal(&tfplugin.Schema{Block: &tfplugin.Schema_Block{
				Attributes: []*tfplugin.Schema_Attribute{{Name: "name", Type: []byte(`"string"`), Required: true}}}})
			out = &tfplugin.GetProviderSchemaResponse{ResourceSchemas: map[string][]byte{"odd_thing": schema}}
		case "ApplyResourceChange":
			out, err = apply(server)
		case "GenerateResourceConfig":
			out = &tfplugin.GenerateResourceConfigResponse{}
		default:
			err = status.Error(codes.Unimplemented, called)
		}
		if err != nil {
			return err
		}
		return stream.SendMsg(out)
	}))
	listener, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	p, err := Start(t.Context(), Launch{Provider: address("odd"), Reattach: &Reattach{ProtocolVersion: 6,
		Addr: listener.Addr()}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Close() // the connection may be cut already
		go server.Stop()
	})
	return p
}
