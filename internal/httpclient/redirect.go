package httpclient

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// maxRedirects limits the number of redirects of a request.
const maxRedirects = 10

// RedirectError reports that a redirect is not followed. Sending the request again would have the
// same result.
type RedirectError struct{ reason string }

func (e *RedirectError) Error() string { return e.reason }

func refuse(format string, args ...any) error { return &RedirectError{fmt.Sprintf(format, args...)} }

// carried lists the headers that are also sent to another origin. All other headers are dropped,
// because they may contain credentials.
var carried = map[string]bool{
	"Accept": true, "Accept-Encoding": true, "If-Modified-Since": true, "If-None-Match": true, "If-Range": true,
	"Range": true, "User-Agent": true,
}

// checkRedirect returns an error if a redirect must not be followed. Once a redirect has led to
// another origin, credentials are removed. They stay removed even if a later redirect leads back,
// because the other origin has chosen where it leads.
func checkRedirect(req *http.Request, via []*http.Request) error {
	to, first := Redact(req.URL), via[0]
	req.Header.Del("Referer") // the query of the referring URL may contain a secret
	elsewhere := false
	for _, earlier := range via {
		if earlier.URL.Scheme == "https" && req.URL.Scheme != "https" {
			return refuse("the request was redirected from https to %s, which is not encrypted", to)
		}
		elsewhere = elsewhere || !SameOrigin(earlier.URL, req.URL)
	}
	reading := first.Method == http.MethodGet || first.Method == http.MethodHead
	switch {
	case len(via) >= maxRedirects:
		return refuse("the request was redirected too many times")
	case req.Method != first.Method:
		return refuse("the server redirected the %s request to %s, which would turn it into a %s "+
			"request that changes nothing; set the address to the final URL of the server",
			first.Method, to, req.Method)
	case elsewhere && !reading:
		return refuse("the server redirected the %s request to another server, %s, which must not receive its "+
			"data and credentials; if that server "+
			"is the right one, set the address to it", first.Method, to)
	case elsewhere:
		for name := range req.Header {
			if !carried[name] {
				delete(req.Header, name)
			}
		}
	}
	return nil
}

var defaultPorts = map[string]string{"http": "80", "https": "443"}

// SameOrigin reports whether two URLs have the same scheme, host and port.
func SameOrigin(a, b *url.URL) bool { return origin(a) == origin(b) }

func origin(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = defaultPorts[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}
