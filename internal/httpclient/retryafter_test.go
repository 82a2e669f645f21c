package httpclient_test

import (
	"net/http"
	"testing"
	"time"

	"tofu/internal/httpclient"
)

func TestRetryAfter(t *testing.T) {
	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "-7": 0, "1.5": 0, "soon": 0, "99999999999": (1<<31 - 1) * time.Second,
		in(time.Hour): time.Hour, in(-time.Hour): 0,
	} {
		got := httpclient.RetryAfter(http.Header{"Retry-After": {value}})
		if (got - want).Abs() > 10*time.Second {
			t.Errorf("%q: %s, want %s", value, got, want)
		}
	}
}
