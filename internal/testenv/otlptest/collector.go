package otlptest

import (
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Collector keeps the spans that it receives.
type Collector struct {
	URL  string // address for HTTP, as in OTEL_EXPORTER_OTLP_ENDPOINT
	GRPC string // address for gRPC, as in OTEL_EXPORTER_OTLP_ENDPOINT

	// Refuse, if not nil, can respond to an HTTP request in place of the collector. It returns true
	// if it has responded.
	Refuse func(http.ResponseWriter, *http.Request) bool

	// Got, if not nil, receives the spans of each request. If it returns an error, the collector
	// responds with that error.
	Got func([]Span) error

	mu    sync.Mutex
	spans []Span
	heads []map[string][]string
}

// Start starts a collector. The returned function stops it.
func Start() (c *Collector, end func(), err error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	c = &Collector{GRPC: "http://" + listener.Addr().String()}
	calls := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(c.call))
	go func() { _ = calls.Serve(listener) }()
	server := httptest.NewServer(http.HandlerFunc(c.post))
	c.URL = server.URL
	return c, func() { calls.Stop(); server.Close() }, nil
}

// New starts a collector that is stopped when the test ends.
func New(t testing.TB) *Collector {
	c, end, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return c
}

// Spans returns the spans received so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// Headers returns the headers of each request so far.
func (c *Collector) Headers() []map[string][]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]map[string][]string(nil), c.heads...)
}

func (c *Collector) take(head map[string][]string, request []byte) error {
	spans, err := Decode(request)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heads = append(c.heads, head)
	c.spans = append(c.spans, spans...)
	if err == nil && c.Got != nil {
		err = c.Got(spans)
	}
	return err
}

func (c *Collector) post(w http.ResponseWriter, r *http.Request) {
	if c.Refuse != nil && c.Refuse(w, r) {
		return
	}
	if r.URL.Path != "/v1/traces" || r.Method != http.MethodPost ||
		r.Header.Get("Content-Type") != "application/x-protobuf" {
		http.NotFound(w, r)
		return
	}
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body = unpacked
	}
	request, err := io.ReadAll(body)
	if err == nil {
		err = c.take(r.Header, request)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (c *Collector) call(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	if method != "/opentelemetry.proto.collector.trace.v1.TraceService/Export" {
		return status.Error(codes.Unimplemented, method)
	}
	var request []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	head, _ := metadata.FromIncomingContext(stream.Context())
	if err := c.take(head, request); err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	return stream.SendMsg(&[]byte{})
}

// raw is a codec that passes on encoded messages unchanged.
type raw struct{}

// Name implements encoding.Codec.
func (raw) Name() string { return "proto" }

// Marshal implements encoding.Codec.
func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }

// Unmarshal implements encoding.Codec.
func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = append([]byte(nil), data...)
	return nil
}
