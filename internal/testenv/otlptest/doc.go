// Package otlptest is a collector of traces for tests. It receives OTLP over HTTP and gRPC and
// keeps the spans.
//
// Invariants: it decodes messages with its own code, so that encoding errors are detected; it
// responds like a real collector.
package otlptest
