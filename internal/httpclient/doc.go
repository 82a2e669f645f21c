// Package httpclient provides the HTTP clients of this program, so that all requests follow the
// same policy.
//
// Redirects never change the method of a request, never lead from https to http, and never take a
// credential or a body to another origin. Requests to silent servers are canceled. Connections use
// TLS 1.2 or later, and proxies come from the environment. Each request is logged. Neither logs nor
// errors contain headers, passwords or query parameters that look like secrets.
//
//	client := httpclient.New(httpclient.Options{})
//	resp, err := client.Do(req)
//
// The package never repeats requests, because only its callers know which ones are safe to repeat.
// Callers also know the maximum size of a response and enforce it with package limits.
package httpclient
