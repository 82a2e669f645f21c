// Package hosts lets test servers answer for hosts of the internet, such as
// login.microsoftonline.com.
//
// [New] starts a proxy for HTTP and HTTPS with a certificate authority of its own. Programs that
// have its environment, see [Proxy.Env], send their requests to it, and it passes them to the
// handlers of the hosts. Nothing leaves the machine: a host without a handler cannot be reached.
//
// Invariants: the proxy listens only on the loopback interface; its keys exist only in memory.
package hosts
