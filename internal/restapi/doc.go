// Package restapi calls the HTTP interfaces of cloud services. It signs each request, repeats it
// after failures that may be temporary, and limits the size of the response.
//
// A request is repeated if the connection failed, the service was too slow or busy (408, 429) or
// had an internal error (5xx, except 501), or Client.Again says so. The delays double each time and
// vary at random; a Retry-After header extends them. A service may thus execute a request twice.
// The caller must make sure that this does no harm.
//
// Connections follow the policy of package httpclient, which also logs requests without secrets.
package restapi
