// Package otlp sends the trace of a run to a collector, in OpenTelemetry's protocol (OTLP) over
// HTTP or gRPC. The variables of OpenTelemetry's specification say whether and where to: nothing is
// sent unless OTEL_TRACES_EXPORTER is "otlp".
//
// The messages are written here and not by OpenTelemetry's own packages: those that are needed have
// ten fields, while the packages would come with everything else that can be traced, and every run
// would pay for setting them up.
//
// Invariants: a collector that is slow or away keeps no work waiting, and its failure doesn't make
// a command fail: what can't be sent in time is dropped and counted; nothing is made before it is
// known that somebody wants it.
package otlp
