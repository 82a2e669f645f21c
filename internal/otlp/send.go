package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	gzipcodec "google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"tofu/internal/httpclient"
)

// overHTTP sends messages with HTTP POST requests.
type overHTTP struct {
	settings *settings
	client   *httpclient.Client
}

func newHTTP(s *settings) *overHTTP {
	return &overHTTP{settings: s, client: httpclient.New(httpclient.Options{TLS: s.tls})}
}

func (h *overHTTP) send(ctx context.Context, message []byte) error {
	body := message
	if h.settings.compress {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(message) // never returns an error
		_ = w.Close()
		body = packed.Bytes()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.settings.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	if h.settings.compress {
		req.Header.Set("Content-Encoding", "gzip")
	}
	for _, p := range h.settings.headers {
		req.Header.Set(p.name, p.value)
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	// Reading the body to its end allows the connection to be reused.
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20))
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return busyError{fmt.Errorf("the answer was %s", resp.Status), httpclient.RetryAfter(resp.Header)}
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the answer was %s", resp.Status)
	}
	return nil
}

func (h *overHTTP) close() { h.client.Close() }

// overGRPC sends messages by calling the gRPC service of the collector.
type overGRPC struct {
	settings *settings
	conn     *grpc.ClientConn
}

const exportMethod = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"

func newGRPC(s *settings) (*overGRPC, error) {
	trust := insecure.NewCredentials()
	if s.tls != nil {
		trust = credentials.NewTLS(s.tls)
	}
	conn, err := grpc.NewClient(s.endpoint.Host, grpc.WithTransportCredentials(trust))
	if err != nil {
		return nil, fmt.Errorf("the collector's address %s: %w", httpclient.Redact(s.endpoint), err)
	}
	return &overGRPC{settings: s, conn: conn}, nil
}

func (g *overGRPC) send(ctx context.Context, message []byte) error {
	for _, p := range g.settings.headers {
		ctx = metadata.AppendToOutgoingContext(ctx, p.name, p.value)
	}
	options := []grpc.CallOption{grpc.ForceCodec(encoded{})}
	if g.settings.compress {
		options = append(options, grpc.UseCompressor(gzipcodec.Name))
	}
	var answer []byte
	err := g.conn.Invoke(ctx, exportMethod, message, &answer, options...)
	// Retry only if the collector answered that it is unavailable, not if there is no connection to
	// it.
	if busy := status.Code(err) == codes.Unavailable; busy && g.conn.GetState() != connectivity.TransientFailure {
		return busyError{error: err}
	}
	return err
}

func (g *overGRPC) close() { _ = g.conn.Close() }

// encoded is a codec for messages that are already encoded.
type encoded struct{}

// Name implements encoding.Codec. The name becomes part of the content type.
func (encoded) Name() string { return "proto" }

// Marshal implements encoding.Codec.
func (encoded) Marshal(v any) ([]byte, error) { return v.([]byte), nil }

// Unmarshal implements encoding.Codec.
func (encoded) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = data
	return nil
}
