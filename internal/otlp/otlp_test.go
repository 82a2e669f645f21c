package otlp_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"tofu/internal/otlp"
	"tofu/internal/testenv/otlptest"
	"tofu/internal/timings"
	"tofu/internal/version"
)

// environment returns a getenv function for a test.
func environment(pairs ...string) func(string) string {
	values := map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}
	for i := 0; i < len(pairs); i += 2 {
		values[pairs[i]] = pairs[i+1]
	}
	return func(name string) string { return values[name] }
}

// session sends the trace of a small run and returns the error from Close.
func session(t *testing.T, getenv func(string) string) error {
	t.Helper()
	e, err := otlp.New(getenv, version.Info{Version: "9.9", Commit: "abc"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	r := timings.New()
	r.Trace(e.Trace(), e.Span)
	end := r.Command("tofu plan", e.Parent())
	phase := r.Phase("walk")
	work := r.Work("plan", name("a.b"))
	r.Call(timings.Call{Provider: "x/y", Method: "ReadResource"}, name("a.b"))()
	work(errors.New("lost \xff" + strings.Repeat("x", 5000)))
	r.Begin("install provider", timings.Attribute{Key: "k", Value: "v"}).End(nil)
	phase()
	end(nil)
	return e.Close(t.Context())
}

type name string

func (n name) String() string { return string(n) }

func TestTransports(t *testing.T) {
	for _, c := range []struct {
		what   string
		getenv func(*otlptest.Collector) func(string) string
	}{
		{"http", func(c *otlptest.Collector) func(string) string {
			return environment("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL, "OTEL_EXPORTER_OTLP_HEADERS",
				"x-key=a%20b, x-other=2")
		}},
		{"http, for traces alone", func(c *otlptest.Collector) func(string) string {
			return environment("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/v1/traces",
				"OTEL_EXPORTER_OTLP_ENDPOINT", "http://nowhere.invalid",
				"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key=a%20b", "OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip")
		}},
		{"grpc", func(c *otlptest.Collector) func(string) string {
			return environment("OTEL_EXPORTER_OTLP_ENDPOINT", c.GRPC, "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc",
				"OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b")
		}},
		{"grpc, compressed, no scheme", func(c *otlptest.Collector) func(string) string {
			return environment("OTEL_EXPORTER_OTLP_ENDPOINT", strings.TrimPrefix(c.GRPC, "http://"),
				"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "grpc",
				"OTEL_EXPORTER_OTLP_INSECURE", "true", "OTEL_EXPORTER_OTLP_HEADERS", "x-key=a%20b",
				"OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			collector := otlptest.New(t)
			if err := session(t, c.getenv(collector)); err != nil {
				t.Fatal(err)
			}
			check(t, collector.Spans())
			for _, head := range collector.Headers() {
				for _, key := range []string{"X-Key", "x-key"} {
					if v := head[key]; len(v) > 0 && v[0] == "a b" {
						return
					}
				}
			}
			t.Errorf("the header is missing: %v", collector.Headers())
		})
	}
}

func check(t *testing.T, spans []otlptest.Span) {
	t.Helper()
	byName := map[string]otlptest.Span{}
	for _, s := range spans {
		byName[s.Name] = s
		if s.Trace != spans[0].Trace || s.Ended < s.Began || time.Since(time.Unix(0, int64(s.Began))) > time.Minute {
			t.Errorf("%+v", s)
		}
	}
	whole, walk, plan, read := byName["tofu plan"], byName["walk"], byName["plan"], byName["ReadResource"]
	if len(spans) != 5 || whole.Parent != "" || walk.Parent != whole.ID || plan.Parent != walk.ID ||
		read.Parent != plan.ID ||
		byName["install provider"].Parent != walk.ID {
		t.Errorf("the spans have other parents: %+v", spans)
	}
	if text := "lost xxx"; len(plan.Exceptions) != 1 || plan.Message != plan.Exceptions[0] ||
		!strings.HasPrefix(plan.Message, text) ||
		len(plan.Message) > 4200 || len(whole.Exceptions) > 0 || whole.Message != "" {
		t.Errorf("the spans have other errors: %+v", spans)
	}
	if plan.Status != 2 || whole.Status != 0 || plan.Kind != 1 || read.Kind != 3 {
		t.Errorf("the spans have another status or kind: %+v", spans)
	}
	if plan.Attributes["opentofu.resource_instance.address"] != "a.b" ||
		read.Attributes["opentofu.provider.source"] != "x/y" ||
		whole.Resource["service.name"] != "OpenTofu CLI" || whole.Resource["service.version"] != "9.9" ||
		whole.Resource["vcs.ref.head.revision"] != "abc" {
		t.Errorf("attributes are missing: %+v", spans)
	}
}

func TestTraceOfTheCaller(t *testing.T) {
	collector := otlptest.New(t)
	err := session(t, environment("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL, "TRACESTATE", "k=v",
		"OTEL_SERVICE_NAME", "deploy",
		"OTEL_RESOURCE_ATTRIBUTES", "team=a%20b,service.name=other", "TRACEPARENT",
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range collector.Spans() {
		if s.Trace != "0af7651916cd43dd8448eb211c80319c" || s.State != "k=v" ||
			s.Resource["service.name"] != "deploy" || s.Resource["team"] != "a b" {
			t.Errorf("%+v", s)
		}
		if s.Name == "tofu plan" && s.Parent != "b7ad6b7169203331" {
			t.Errorf("%+v", s)
		}
	}
}

func TestNothingWanted(t *testing.T) {
	for _, getenv := range []func(string) string{
		func(string) string { return "" }, environment("OTEL_TRACES_EXPORTER", "none"),
		environment("OTEL_SDK_DISABLED", "true"),
	} {
		if e, err := otlp.New(getenv, version.Info{}, nil); e != nil || err != nil {
			t.Errorf("%v, %v", e, err)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, c := range [][3]string{
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "http/json", "http/protobuf"},
		{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "tcp", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"},
		{"OTEL_EXPORTER_OTLP_COMPRESSION", "zstd", "gzip"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "10s", "milliseconds"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "localhost:4318", "http://"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "hunter2", "NAME=VALUE"},
		{"OTEL_RESOURCE_ATTRIBUTES", "a=%zz", "NAME=VALUE"},
	} {
		if _, err := otlp.New(environment(c[0], c[1]), version.Info{}, slog.New(slog.DiscardHandler)); err == nil ||
			!strings.Contains(err.Error(), c[2]) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s=%s: %v", c[0], c[1], err)
		}
	}
	for _, parent := range []string{"", "00-1-2-01", "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		"00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01"} {
		e, err := otlp.New(environment("TRACEPARENT", parent), version.Info{}, slog.New(slog.DiscardHandler))
		if err != nil || e.Parent() != (timings.ID{}) || e.Close(t.Context()) != nil {
			t.Errorf("%q: %v", parent, err)
		}
	}
	lonely := environment("OTEL_EXPORTER_OTLP_ENDPOINT", "https://localhost", "OTEL_EXPORTER_OTLP_CLIENT_KEY", "k")
	if _, err := otlp.New(lonely, version.Info{}, slog.New(slog.DiscardHandler)); err == nil ||
		!strings.Contains(err.Error(), "only one of them is set") {
		t.Errorf("a client key without a certificate: %v", err)
	}
}

// TestTrouble checks that a message is sent again if the collector asks for that. It also checks
// that collectors that refuse messages or are unavailable cause no delay.
func TestTrouble(t *testing.T) {
	collector := otlptest.New(t)
	asked := 0
	collector.Refuse = func(w http.ResponseWriter, _ *http.Request) bool {
		asked++
		if asked == 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return asked == 1
	}
	if err := session(t, environment("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)); err != nil ||
		len(collector.Spans()) != 5 {
		t.Errorf("%v, %d spans", err, len(collector.Spans()))
	}
	away := otlptest.New(t)
	away.Refuse = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, collector.URL+r.URL.Path, http.StatusPermanentRedirect)
		return true
	}
	collector.Refuse = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusForbidden)
		return true
	}
	for what, getenv := range map[string]func(string) string{
		"403 Forbidden":  environment("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL),
		"another server": environment("OTEL_EXPORTER_OTLP_ENDPOINT", away.URL),
		"refused":        environment("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1"),
		"Unavailable": environment("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1",
			"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
	} {
		began := time.Now()
		if err := session(t, getenv); err == nil || !strings.Contains(err.Error(), what) ||
			!strings.Contains(err.Error(), "(missing: 5)") {
			t.Errorf("%v, want %s", err, what)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: it took %s", what, took)
		}
	}
}

// TestSilence checks that Close stops waiting for a collector that never responds when its context
// ends.
func TestSilence(t *testing.T) {
	collector := otlptest.New(t)
	released := make(chan struct{})
	defer close(released)
	collector.Refuse = func(http.ResponseWriter, *http.Request) bool {
		<-released
		return true
	}
	e, err := otlp.New(environment("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL), version.Info{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for range 30_000 { // more spans than fit into the queue
		e.Span(timings.Span{Name: "x"})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if err := e.Close(ctx); err == nil || !strings.Contains(err.Error(), "(missing: 30000)") ||
		time.Since(began) > 5*time.Second {
		t.Errorf("after %s: %v", time.Since(began), err)
	}
}
