// Package otlp sends the trace of a run to a collector, with the OpenTelemetry protocol (OTLP) over
// HTTP or gRPC. It is configured with the environment variables of the OpenTelemetry specification,
// and sends nothing unless OTEL_TRACES_EXPORTER is "otlp".
//
// The package encodes the messages itself. It needs only a few of their fields, while
// OpenTelemetry's packages would add many dependencies, and start-up time to every run.
//
// Invariants: a slow or unavailable collector delays no work, and its failure does not fail a
// command. Spans that can't be sent in time are dropped and counted. Nothing is created if no
// collector is configured.
package otlp
