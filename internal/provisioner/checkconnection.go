package provisioner

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/tfdiags"
)

// connectionChecks lists the arguments of a connection block whose values can be wrong although
// they have the right type.
var connectionChecks = []struct {
	argument, summary string
	check             func(connection cty.Value) error
}{
	{"type", "Unsupported connection type", checkType},
	{"timeout", "Invalid connection argument", func(v cty.Value) error { _, err := timeout(v); return err }},
	{"port", "Invalid connection argument", checkPort("port")},
	{"bastion_port", "Invalid connection argument", checkPort("bastion_port")},
	{"proxy_port", "Invalid connection argument", checkPort("proxy_port")},
	{"proxy_scheme", "Invalid connection argument", func(v cty.Value) error { _, err := proxyPort(v); return err }},
	{"target_platform", "Invalid connection argument", func(v cty.Value) error { _, err := onWindows(v); return err }},
	{"script_path", "Invalid connection argument", func(v cty.Value) error {
		if windows, err := onWindows(v); err != nil || !windows {
			return nil
		}
		return checkWindowsScript(text(v, "script_path"))
	}},
}

// CheckConnection checks the values in a connection block that are known before the machine exists.
// The errors have the paths of the arguments.
func (p *Provisioner) CheckConnection(connection cty.Value) tfdiags.Diagnostics {
	var out tfdiags.Diagnostics
	for _, c := range connectionChecks {
		if err := c.check(connection); err != nil {
			d := tfdiags.Errorf(c.summary, "%s", tfdiags.Sentence(err))
			d.Path = cty.GetAttrPath(c.argument)
			out.Add(d)
		}
	}
	return out
}

func checkType(v cty.Value) error {
	switch typ := strings.ToLower(text(v, "type")); typ {
	case "", "ssh":
		return nil
	case "winrm":
		return errors.New("WinRM is not supported; Windows includes an SSH server: install the OpenSSH server on the " +
			"target, and use type = \"ssh\" with target_platform = \"windows\"")
	default:
		return fmt.Errorf("connection type %q is not supported; use \"ssh\"", typ)
	}
}

func timeout(v cty.Value) (time.Duration, error) {
	given := text(v, "timeout")
	if given == "" {
		return defaultTimeout, nil
	}
	d, err := time.ParseDuration(given)
	if err != nil {
		return defaultTimeout, fmt.Errorf("the connection's timeout %q is not a duration like \"30s\" or \"5m\"", given)
	}
	return d, nil
}

func checkPort(name string) func(cty.Value) error {
	return func(v cty.Value) error {
		_, err := port(v, name, 0)
		return err
	}
}

// onWindows reports whether the target runs Windows.
func onWindows(v cty.Value) (bool, error) {
	platform := text(v, "target_platform")
	windows, ok := platforms[platform]
	if !ok {
		return false, fmt.Errorf("the connection's target_platform must be \"unix\" or \"windows\", not %q", platform)
	}
	return windows, nil
}

// proxyPort returns the standard port of the scheme of the connection's proxy, if there is one.
func proxyPort(v cty.Value) (int, error) {
	scheme := or(text(v, "proxy_scheme"), "http")
	standard, ok := map[string]int{"http": 80, "https": 443}[scheme]
	if !ok && text(v, "proxy_host") != "" {
		return 0, fmt.Errorf("the connection's proxy_scheme must be \"http\" or \"https\", not %q", scheme)
	}
	return standard, nil
}
