// Package otlptest is a collector of traces for tests: it speaks OTLP over HTTP and gRPC and keeps what it gets.
//
// Invariants: it reads messages by itself, so that a mistake in writing them is seen; it answers like a real collector.
package otlptest
