// Package httpclient makes the HTTP clients of this program, so that one policy holds for every request, whatever sends it.
//
// Redirects never change the method of a request, never lead from https to http, and never take a credential or a body to another
// origin. A server that falls silent is given up. Connections use TLS 1.2 or later, and proxies come from the environment. Each
// request is logged, and neither logs nor errors show headers, passwords or query parameters that look like secrets.
//
// The package repeats no request: its users know which ones are safe to repeat. They also know how long an answer may be; ReadAll
// bounds it.
package httpclient
