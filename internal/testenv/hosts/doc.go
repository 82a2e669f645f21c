// Package hosts lets test servers act as hosts on the internet, such as login.microsoftonline.com.
//
// [New] starts an HTTP and HTTPS proxy with its own certificate authority. Programs that run with
// the environment of [Proxy.Env] send their requests to this proxy. The proxy passes them to the
// handlers of the requested hosts. No request leaves the machine: hosts without a handler can't be
// reached.
//
// Invariants: the proxy listens only on the loopback interface; its keys exist only in memory.
package hosts
