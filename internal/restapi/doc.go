// Package restapi calls the HTTP interfaces of cloud services: it signs each request, repeats it if
// that can help, and reads the response within a limit.
//
// Requests are repeated, with delays that double and vary at random, if the connection failed, the
// service was busy (429) or had an internal error (5xx), or if Client.Again says so. A
// Retry-After header extends the delay. A request may therefore be executed twice; its user must
// make that harmless.
//
// Connections follow the policy of package httpclient, which also logs requests without secrets.
package restapi
