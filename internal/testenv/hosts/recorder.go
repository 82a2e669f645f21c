package hosts

import (
	"net/http"
	"sync"
)

// A Recorder records the requests to servers. Tests can also use it to respond instead of the
// servers. The zero value is ready to use.
type Recorder struct {
	mu        sync.Mutex
	requests  []string
	intercept func(w http.ResponseWriter, r *http.Request) bool
}

// Watch returns handlers that record requests and then pass them to hosts. line returns the text
// that is recorded for a request.
func (c *Recorder) Watch(hosts map[string]http.Handler, line func(*http.Request) string) map[string]http.Handler {
	out := make(map[string]http.Handler, len(hosts))
	for host, h := range hosts {
		out[host] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c.mu.Lock()
			c.requests = append(c.requests, line(r))
			intercept := c.intercept
			c.mu.Unlock()
			if intercept == nil || !intercept(w, r) {
				h.ServeHTTP(w, r)
			}
		})
	}
	return out
}

// Requests returns the recorded requests since its last call.
func (c *Recorder) Requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.requests
	c.requests = nil
	return out
}

// Intercept sets a function that is called for each request. If f returns true, it has responded to
// the request, and the server does not receive it. If f is nil, requests are no longer intercepted.
func (c *Recorder) Intercept(f func(w http.ResponseWriter, r *http.Request) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.intercept = f
}
