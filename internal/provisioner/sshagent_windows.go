package provisioner

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// agentPipe is the named pipe of the agent of Windows OpenSSH.
const agentPipe = `\\.\pipe\openssh-ssh-agent`

// noAgent is the reason why dialAgent returns no agent.
const noAgent = "the service ssh-agent is not running"

// dialAgent connects to the agent. If no agent is running, it returns nil and no error.
func dialAgent() (io.ReadWriteCloser, error) {
	f, err := os.OpenFile(agentPipe, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}
