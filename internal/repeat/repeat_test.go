package repeat

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/pace"
	"tofu/internal/providers"
	"tofu/internal/tfdiags"
	"tofu/internal/timings"
)

// faulty is a provider whose calls fail with the next error of a list, and then succeed.
type faulty struct {
	providers.Interface
	mu     sync.Mutex
	errs   []string // "" is a success
	always string   // the error after that; "" for none
	calls  int
}

func (f *faulty) next() tfdiags.Diagnostics {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	text := f.always
	if len(f.errs) > 0 {
		text, f.errs = f.errs[0], f.errs[1:]
	}
	if text == "" {
		return nil
	}
	return tfdiags.Errorf("The service failed", "%s", text).List()
}

func (f *faulty) ValidateResource(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return f.next()
}
func (f *faulty) ValidateDataSource(context.Context, string, cty.Value) tfdiags.Diagnostics {
	return f.next()
}
func (f *faulty) ReadResource(context.Context, providers.ReadRequest) providers.ReadResponse {
	return providers.ReadResponse{Diagnostics: f.next()}
}
func (f *faulty) ReadDataSource(context.Context, providers.ReadDataRequest) providers.ReadDataResponse {
	return providers.ReadDataResponse{Diagnostics: f.next()}
}
func (f *faulty) PlanResourceChange(context.Context, providers.PlanRequest) providers.PlanResponse {
	return providers.PlanResponse{Diagnostics: f.next()}
}
func (f *faulty) ApplyResourceChange(context.Context, providers.ApplyRequest) providers.ApplyResponse {
	return providers.ApplyResponse{Diagnostics: f.next()}
}
func (f *faulty) ImportResourceState(context.Context, providers.ImportRequest) providers.ImportResponse {
	return providers.ImportResponse{Diagnostics: f.next()}
}
func (f *faulty) OpenEphemeral(context.Context, string, cty.Value) providers.OpenResponse {
	return providers.OpenResponse{Diagnostics: f.next()}
}
func (f *faulty) Configure(context.Context, cty.Value) tfdiags.Diagnostics { return f.next() }

const (
	tooMany = "ThrottlingException: Rate exceeded"
	broken  = "read tcp 10.0.0.1:443: connection reset by peer"
	denied  = "AccessDenied: not authorized"
)

// methods make a call of each kind and return its diagnostics.
var methods = map[string]func(context.Context, providers.Interface) tfdiags.Diagnostics{
	"validate": func(ctx context.Context, p providers.Interface) tfdiags.Diagnostics {
		return p.ValidateResource(ctx, "t", cty.NilVal)
	},
	"validate data": func(ctx context.Context, p providers.Interface) tfdiags.Diagnostics {
		return p.ValidateDataSource(ctx, "t", cty.NilVal)
	},
	"read": func(ctx context.Context, p providers.Interface) tfdiags.Diagnostics {
		return p.ReadResource(ctx, providers.ReadRequest{Type: "t"}).Diagnostics
	},
	"data": func(ctx context.Context, p providers.Interface) tfdiags.Diagnostics {
		return p.ReadDataSource(ctx, providers.ReadDataRequest{Type: "t"}).Diagnostics
	},
	"plan": func(ctx context.Context, p providers.Interface) tfdiags.Diagnostics {
		return p.PlanResourceChange(ctx, providers.PlanRequest{Type: "t"}).Diagnostics
	},
	"apply": func(ctx context.Context, p providers.Interface) tfdiags.Diagnostics {
		return p.ApplyResourceChange(ctx, providers.ApplyRequest{Type: "t"}).Diagnostics
	},
	"import": func(ctx context.Context, p providers.Interface) tfdiags.Diagnostics {
		return p.ImportResourceState(ctx, providers.ImportRequest{Type: "t"}).Diagnostics
	},
	"open": func(ctx context.Context, p providers.Interface) tfdiags.Diagnostics {
		return p.OpenEphemeral(ctx, "t", cty.NilVal).Diagnostics
	},
	"configure": func(ctx context.Context, p providers.Interface) tfdiags.Diagnostics {
		return p.Configure(ctx, cty.NilVal)
	},
}

// TestRepeats checks which calls are repeated after which errors, and how often.
func TestRepeats(t *testing.T) {
	safe := map[string]bool{"validate": true, "validate data": true, "read": true, "data": true, "plan": true}
	for method, call := range methods {
		for _, c := range []struct {
			errs  []string
			calls int  // of safe methods
			fails bool // whether safe methods fail
		}{
			{nil, 1, false},
			{[]string{tooMany}, 2, false},
			{[]string{tooMany, broken, tooMany, broken}, 4, true}, // the last error counts
			{[]string{tooMany, tooMany, tooMany, tooMany, tooMany}, 6, false},
			{[]string{broken, broken, broken}, 4, false},
			{[]string{denied}, 1, true},
			{[]string{tooMany, denied}, 2, true},
		} {
			synctest.Test(t, func(t *testing.T) {
				f := &faulty{errs: c.errs}
				p := Provider(f, "acme/x", pace.New(pace.Limits{}), nil, nil)
				diags := call(t.Context(), p)
				calls, fails := c.calls, c.fails
				if !safe[method] {
					calls, fails = 1, len(c.errs) > 0
				}
				if f.calls != calls || diags.HasErrors() != fails {
					t.Errorf("%s, %q: %d calls instead of %d, %v", method, c.errs, f.calls, calls, diags)
				}
			})
		}
	}
}

// TestForever checks that a provider that always refuses ends with its error in bounded time, and that
// further calls don't take that long, until one is accepted.
func TestForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, slots := &faulty{always: tooMany}, pace.New(pace.Limits{})
		p := Provider(f, "acme/x", slots, nil, nil)
		began := time.Now()
		diags := methods["read"](t.Context(), p)
		if took := time.Since(began); took > 3*time.Minute || f.calls != 9 {
			t.Errorf("%d calls in %s", f.calls, took)
		}
		if len(diags) != 1 || !strings.HasSuffix(diags[0].Detail, "Rate exceeded\n\nThe call was repeated 8 times.") {
			t.Errorf("%v", diags)
		}
		began = time.Now()
		for range 1000 {
			if !methods["data"](t.Context(), p).HasErrors() {
				t.Fatal("a refused call has succeeded")
			}
		}
		if took := time.Since(began); took > time.Second || f.calls != 1009 {
			t.Errorf("%d calls in %s", f.calls, took)
		}
		f.errs = []string{"", tooMany, ""}
		for range 2 {
			if diags := methods["read"](t.Context(), p); diags.HasErrors() {
				t.Errorf("%v", diags)
			}
		}
	})
}

// TestEnd checks that a pause ends with the context.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &faulty{always: tooMany}
		p := Provider(f, "acme/x", pace.New(pace.Limits{}), nil, nil)
		ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errors.New("halted"))
		defer cancel()
		began := time.Now()
		if !methods["plan"](ctx, p).HasErrors() || f.calls != 1 || time.Since(began) > 200*time.Millisecond {
			t.Errorf("%d calls in %s", f.calls, time.Since(began))
		}
	})
}

// TestJitter checks that pauses grow and differ.
func TestJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 20 {
			f := &faulty{errs: []string{broken, broken}}
			began := time.Now()
			methods["read"](t.Context(), Provider(f, "acme/x", pace.New(pace.Limits{}), nil, nil))
			took := time.Since(began)
			if took < 750*time.Millisecond || took > 1500*time.Millisecond {
				t.Errorf("two pauses took %s", took)
			}
			seen[took] = true
		}
		if len(seen) < 10 {
			t.Errorf("%d different pauses", len(seen))
		}
	})
}

// TestTimings checks that the time of pauses is recorded.
func TestTimings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := timings.New()
		f := &faulty{errs: []string{tooMany, tooMany}}
		methods["read"](t.Context(), Provider(f, "acme/x", pace.New(pace.Limits{}), recorder, nil))
		var out bytes.Buffer
		recorder.Report(&out)
		if !strings.Contains(out.String(), "        2  ") || !strings.Contains(out.String(), "to repeat a call of acme/x") {
			t.Errorf("%s", out.String())
		}
	})
}

// TestClasses has errors of real services.
func TestClasses(t *testing.T) {
	for text, want := range map[string]class{
		// AWS
		"operation error EC2: DescribeVpcs, https response error StatusCode: 503, RequestID: 42900, api error " +
			"RequestLimitExceeded: Request limit exceeded.": throttled,
		"api error Throttling: Rate exceeded":                                                               throttled,
		"ThrottlingException: Too many requests":                                                            throttled,
		"api error TooManyRequestsException: Too Many Requests":                                             throttled,
		"SlowDown: Please reduce your request rate.":                                                        throttled,
		"PriorRequestNotComplete: The request was rejected because Route 53 was still processing a prior":   throttled,
		"https response error StatusCode: 500, RequestID: x, api error InternalError: We encountered":       temporary,
		"https response error StatusCode: 403, RequestID: 4294296, api error UnauthorizedOperation":         final,
		"creating EC2 VPC: operation error EC2: CreateVpc, api error VpcLimitExceeded: The maximum number":  final,
		"InvalidVpcID.NotFound: The vpc ID 'vpc-0429503aa' does not exist":                                  final,
		"RequestError: send request failed caused by: Get \"https://x\": dial tcp 1.2.3.4:443: i/o timeout": temporary,
		"waiting for state to become 'available' (last state: 'pending', timeout: 10m0s)":                   final,
		// Google, Azure, Cloudflare, GitHub, Kubernetes, DNS, PostgreSQL
		"googleapi: Error 429: Quota exceeded for quota metric 'Queries' and limit 'Queries per minute'": throttled,
		"googleapi: Error 403: Rate Limit Exceeded, rateLimitExceeded":                                   throttled,
		"googleapi: Error 403: The caller does not have permission, forbidden":                           final,
		"googleapi: Error 503: The service is currently unavailable., backendError":                      temporary,
		"unexpected status 429 (429 Too Many Requests) with error: TooManyRequests":                      throttled,
		"HTTP status 429: Rate limited. Please wait and consider throttling your request speed":          throttled,
		"403 API rate limit exceeded for user ID 1429. [rate reset in 12m]":                              throttled,
		"You have exceeded a secondary rate limit":                                                       throttled,
		"GET https://x: 502 Bad Gateway":                                                                 temporary,
		"etcdserver: request timed out":                                                                  temporary,
		"Unexpected return code querying A records for a.example: server failure (SERVFAIL)":             temporary,
		"pq: sorry, too many connections already":                                                        temporary,
		"dial tcp 127.0.0.1:5432: connect: connection refused":                                           temporary,
		"pq: password authentication failed for user \"x\"":                                              final,
		"port 429 is not allowed, nor are 503 and 504":                                                   final,
		"the attribute \"throttle\" must not be empty":                                                   final,
		"rate_limit must be between 1 and 100":                                                           final,
		"the bucket eof-data does not exist":                                                             final,
		"":                                                                                               final,
	} {
		if got := classOf("Error\n" + text); got != want {
			t.Errorf("%q: %d instead of %d", text, got, want)
		}
	}
	mixed := tfdiags.Errorf("a", "%s", tooMany).List().Append(tfdiags.Errorf("b", "%s", denied))
	if classify(mixed) != final || classify(tfdiags.Warningf("a", "%s", tooMany).List()) != final {
		t.Error("a final error among others, or a warning, is repeated")
	}
	if classify(tfdiags.Errorf("Plugin did not respond", "transport: connection refused").List()) != final {
		t.Error("a call of a dead process is repeated")
	}
}
