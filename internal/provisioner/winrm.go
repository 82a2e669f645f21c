package provisioner

import (
	"context"
	"errors"
)

// openWinRM returns an error that recommends SSH. OpenTofu has removed WinRM, and Windows includes
// an SSH server.
func openWinRM(context.Context, *connection, *request) (target, error) {
	return nil, errors.New("connections of type \"winrm\" are not supported by this program. " +
		"Install the OpenSSH server that comes with Windows on the target, and use type = \"ssh\" with " +
		"target_platform = \"windows\"")
}
