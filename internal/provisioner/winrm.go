package provisioner

import (
	"context"
	"errors"
)

// openWinRM refuses: the protocol is on its way out of the language, and Windows has an SSH server of its own.
func openWinRM(context.Context, *connection, *request) (target, error) {
	return nil, errors.New("connections of type \"winrm\" are not supported by this program. " +
		"Install the OpenSSH server that comes with Windows on the target, and use type = \"ssh\" with target_platform = \"windows\"")
}
