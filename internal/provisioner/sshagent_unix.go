//go:build unix

package provisioner

import (
	"io"
	"net"
	"os"
)

// noAgent is the reason why dialAgent returns no agent.
const noAgent = "SSH_AUTH_SOCK is not set"

// dialAgent connects to the agent that the environment names. If it names none, dialAgent returns
// nil and no error.
func dialAgent() (io.ReadWriteCloser, error) {
	path := os.Getenv("SSH_AUTH_SOCK")
	if path == "" {
		return nil, nil
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		return nil, err
	}
	return conn, nil
}
