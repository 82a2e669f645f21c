package provisioner

import (
	"errors"
	"io"
	"io/fs"
	"os"
)

// agentPipe is where the agent of Windows' own OpenSSH listens.
const agentPipe = `\\.\pipe\openssh-ssh-agent`

// dialAgent connects to the agent; nil, nil when there is none.
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
