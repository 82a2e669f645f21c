package provisioner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"tofu/internal/tfdiags"
)

const defaultTimeout = 5 * time.Minute

// target is a remote machine that receives files and runs scripts. Its operations end soon after
// the context that was passed to open.
type target interface {
	// upload writes a file to dst. If dst is a directory, the file is written to dst/name.
	upload(ctx context.Context, dst, name string, size int64, content io.Reader) error
	// uploadDir writes the content of the directory src to dst. If src doesn't end with a slash,
	// the content goes to a directory in dst that has the name of src.
	uploadDir(ctx context.Context, dst, src string) error
	// script uploads a script, runs it and removes it.
	script(ctx context.Context, text []byte, out io.Writer) error
	close() error
}

// open connects to the machine that the connection block describes.
func open(ctx context.Context, r *request) (target, error) {
	if r.connection.IsNull() {
		return nil, errors.New("missing connection configuration: the provisioner or the resource needs a connection " +
			"block with the host to connect to")
	}
	if err := checkType(r.connection); err != nil {
		return nil, err
	}
	c, err := decodeConnection(r)
	if err != nil {
		return nil, err
	}
	return openSSH(ctx, c, r)
}

// connection is the content of a connection block.
type connection struct {
	endpoint
	timeout       time.Duration
	scriptPath    string
	windows       bool // whether the target runs Windows
	agent         *bool
	agentIdentity string
	bastion       *endpoint // nil to connect directly
	proxy         *proxy    // nil to connect directly
}

// endpoint is a machine to log in to.
type endpoint struct {
	host        string
	port        int
	user        string
	password    string
	privateKey  string
	certificate string
	hostKey     string
}

// proxy is an HTTP proxy for the connection to the bastion or, if there is no bastion, to the
// target.
type proxy struct {
	scheme, host, user, password string
	port                         int
}

var platforms = map[string]bool{"": false, "unix": false, "windows": true}

func decodeConnection(r *request) (*connection, error) {
	v := r.connection
	c := &connection{
		endpoint: endpoint{
			host: bareHost(text(v, "host")), user: text(v, "user"), password: text(v, "password"),
			privateKey: text(v, "private_key"), certificate: text(v, "certificate"), hostKey: text(v, "host_key"),
		},
		scriptPath:    text(v, "script_path"),
		agentIdentity: text(v, "agent_identity"),
	}
	if c.host == "" {
		return nil, errors.New("the connection's host is empty: it must name the machine to connect to")
	}
	var err error
	c.port, err = port(v, "port", 22)
	if err != nil {
		return nil, err
	}
	c.timeout, err = timeout(v)
	if err != nil {
		r.warn(fmt.Sprintf("%s; %s is used instead.", tfdiags.Capitalize(err.Error()), defaultTimeout))
	}
	c.windows, err = onWindows(v)
	if err != nil {
		return nil, err
	}
	if c.windows {
		if err := checkWindowsScript(c.scriptPath); err != nil {
			return nil, err
		}
	}
	if agent := attribute(v, "agent"); !agent.IsNull() && agent.IsKnown() {
		use := agent.True()
		c.agent = &use
	}
	if c.user == "" {
		c.user = "root"
	}
	if c.certificate != "" && c.privateKey == "" {
		return nil, errors.New("the connection has a certificate but not the private_key that it belongs to")
	}
	c.bastion, err = decodeBastion(v, c.endpoint)
	if err != nil {
		return nil, err
	}
	c.proxy, err = decodeProxy(v)
	return c, err
}

// decodeBastion returns the bastion, or nil if none is configured. Arguments that are not set have
// the values of the target, with two exceptions: the host key is never taken from the target, and
// the certificate is not taken from the target if the bastion has its own key.
func decodeBastion(v cty.Value, base endpoint) (*endpoint, error) {
	host := text(v, "bastion_host")
	if host == "" {
		return nil, nil
	}
	b := &endpoint{
		host: bareHost(host), hostKey: text(v, "bastion_host_key"), certificate: text(v, "bastion_certificate"),
		user: or(text(v, "bastion_user"), base.user), password: or(text(v, "bastion_password"), base.password),
		privateKey: text(v, "bastion_private_key"),
	}
	if b.privateKey == "" {
		b.privateKey, b.certificate = base.privateKey, or(b.certificate, base.certificate)
	}
	if b.certificate != "" && b.privateKey == "" {
		return nil, errors.New("the connection has a bastion_certificate but not the bastion_private_key " +
			"that it belongs to")
	}
	var err error
	b.port, err = port(v, "bastion_port", base.port)
	return b, err
}

func decodeProxy(v cty.Value) (*proxy, error) {
	host := text(v, "proxy_host")
	if host == "" {
		return nil, nil
	}
	p := &proxy{scheme: or(text(v, "proxy_scheme"), "http"), host: bareHost(host), user: text(v,
		"proxy_user_name"), password: text(v, "proxy_user_password")}
	standard, err := proxyPort(v)
	if err != nil {
		return nil, err
	}
	p.port, err = port(v, "proxy_port", standard)
	return p, err
}

func port(v cty.Value, name string, fallback int) (int, error) {
	given, err := convert.Convert(attribute(v, name), cty.Number)
	if err != nil {
		return 0, fmt.Errorf("the connection's %s must be a number from 1 to 65535", name)
	}
	if given.IsNull() || !given.IsKnown() {
		return fallback, nil
	}
	n, accuracy := given.AsBigFloat().Int64()
	switch {
	case n == 0 && accuracy == 0:
		return fallback, nil
	case n < 0 || n > 65535 || accuracy != 0:
		return 0, fmt.Errorf("the connection's %s is %s; it must be a number from 1 to 65535", name,
			given.AsBigFloat().Text('f', -1))
	}
	return int(n), nil
}

// bareHost removes the brackets of an IPv6 address.
func bareHost(host string) string {
	if strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]") {
		return host[1 : len(host)-1]
	}
	return host
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// scriptFile returns the remote path for a script. A random number replaces %RAND% in the path,
// which prevents conflicts between concurrent runs.
func (c *connection) scriptFile() string {
	path := c.scriptPath
	switch {
	case path == "" && c.windows:
		path = "C:/windows/temp/terraform_%RAND%.cmd"
	case path == "":
		path = "/tmp/terraform_%RAND%.sh"
	}
	path = strings.ReplaceAll(path, "%RAND%", strconv.Itoa(int(rand.Uint32()>>1)))
	if !c.windows && !strings.Contains(path, "/") {
		path = "./" + path // a shell would search PATH for a name without a slash
	}
	return path
}
