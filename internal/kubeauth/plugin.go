package kubeauth

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// kindCredential is the kind of the documents that a plugin reads and prints.
const kindCredential = "ExecCredential"

// pluginVersions are the supported versions of the protocol.
var pluginVersions = []string{"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1"}

// Values of Exec.Interactive:
const (
	Never       = "Never"
	IfAvailable = "IfAvailable"
	Always      = "Always"
)

// extensionName is the name of the cluster extension whose content is passed to plugins.
const extensionName = "client.authentication.k8s.io/exec"

// plugin runs a program to get credentials, and caches them until they expire.
type plugin struct {
	*Exec
	cluster *Cluster

	mu      sync.Mutex
	current *credential
}

// credential holds the credentials that a plugin has printed.
type credential struct {
	token       string
	certificate *tls.Certificate // nil if the plugin has printed only a token
	expires     time.Time        // zero if they don't expire
}

func (c *credential) valid() bool {
	return c != nil && (c.expires.IsZero() || time.Now().Before(c.expires))
}

func (p *plugin) check() error {
	switch {
	case p.Command == "":
		return errors.New("it has no command")
	case !slices.Contains(pluginVersions, p.APIVersion):
		return fmt.Errorf("%q has the API version %q; use one of: %s", p.Command, p.APIVersion,
			strings.Join(pluginVersions, ", "))
	case p.Interactive == "" && p.APIVersion == pluginVersions[0]:
		return fmt.Errorf("%q has no interactiveMode; set it to Never, IfAvailable or Always", p.Command)
	case !slices.Contains([]string{"", Never, IfAvailable, Always}, p.Interactive):
		return fmt.Errorf("%q has the unknown interactiveMode %q; use Never, IfAvailable or Always", p.Command, p.Interactive)
	}
	return nil
}

// credential returns valid credentials from the cache or, if the cache has none, from the plugin.
func (p *plugin) credential(ctx context.Context) (*credential, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current.valid() {
		return p.current, nil
	}
	got, err := p.run(ctx)
	if err != nil {
		return nil, fmt.Errorf("the credential plugin %q: %w", p.Command, err)
	}
	p.current = got
	return got, nil
}

// forget removes credentials from the cache after the cluster has refused them. If the cache
// already contains other credentials, forget does nothing.
func (p *plugin) forget(refused *credential) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == refused {
		p.current = nil
	}
}

// document is an ExecCredential object. A plugin gets one with Spec set and returns one with Status
// set.
type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       spec   `json:"spec"`
	Status     *struct {
		Token       string     `json:"token"`
		Certificate string     `json:"clientCertificateData"`
		Key         string     `json:"clientKeyData"`
		Expires     *time.Time `json:"expirationTimestamp"`
	} `json:"status,omitempty"`
}

type spec struct {
	Cluster     *clusterInfo `json:"cluster,omitempty"`
	Interactive bool         `json:"interactive"`
}

// clusterInfo describes the cluster to plugins that need this information.
type clusterInfo struct {
	Server     string          `json:"server"`
	ServerName string          `json:"tls-server-name,omitempty"`
	Insecure   bool            `json:"insecure-skip-tls-verify,omitempty"`
	CA         []byte          `json:"certificate-authority-data,omitempty"`
	Proxy      string          `json:"proxy-url,omitempty"`
	Config     json.RawMessage `json:"config,omitempty"`
}

func (p *plugin) run(ctx context.Context) (*credential, error) {
	cmd := exec.CommandContext(ctx, p.Command, p.Args...)
	question := document{APIVersion: p.APIVersion, Kind: kindCredential}
	terminal := term.IsTerminal(int(os.Stdin.Fd()))
	switch {
	case p.Interactive == Always && !terminal:
		return nil, errors.New("it needs a terminal, but the input is not one")
	case p.Interactive != Never && terminal:
		question.Spec.Interactive = true
		cmd.Stdin = os.Stdin
	}
	if p.ProvideCluster {
		info, err := p.describe()
		if err != nil {
			return nil, err
		}
		question.Spec.Cluster = info
	}
	text, err := json.Marshal(question)
	if err != nil {
		return nil, err
	}
	cmd.Env = os.Environ()
	for _, v := range p.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	cmd.Env = append(cmd.Env, "KUBERNETES_EXEC_INFO="+string(text))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr // on standard error, plugins tell the user how to sign in
	err = cmd.Run()
	switch {
	case errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist):
		return nil, errors.New(strings.TrimSpace("the program is not installed. " + p.InstallHint))
	case err != nil:
		return nil, err
	}
	return p.read(out.Bytes())
}

func (p *plugin) describe() (*clusterInfo, error) {
	ca, err := p.cluster.authority()
	if err != nil {
		return nil, err
	}
	info := &clusterInfo{Server: p.cluster.Server, ServerName: p.cluster.ServerName, Insecure: p.cluster.Insecure,
		CA: ca, Proxy: p.cluster.Proxy}
	for _, e := range p.cluster.Extensions {
		if e.Name == extensionName {
			info.Config = e.Extension
		}
	}
	return info, nil
}

// read decodes the output of the plugin. Its errors don't quote the output, which contains secrets.
func (p *plugin) read(output []byte) (*credential, error) {
	var answer document
	if json.Unmarshal(output, &answer) != nil || answer.Kind != kindCredential {
		return nil, errors.New("its output is not an ExecCredential in JSON")
	}
	switch status := answer.Status; {
	case answer.APIVersion != p.APIVersion:
		return nil, fmt.Errorf("its output has the API version %q, not %q as configured",
			answer.APIVersion, p.APIVersion)
	case status == nil || status.Token == "" && status.Certificate == "":
		return nil, errors.New("its output has neither a token nor a client certificate")
	case (status.Certificate == "") != (status.Key == ""):
		return nil, errors.New("its output has a client certificate without a key, or a key without a certificate")
	}
	out := &credential{token: answer.Status.Token}
	if answer.Status.Expires != nil {
		out.expires = *answer.Status.Expires
	}
	if answer.Status.Certificate != "" {
		pair, err := tls.X509KeyPair([]byte(answer.Status.Certificate), []byte(answer.Status.Key))
		if err != nil {
			return nil, fmt.Errorf("the client certificate in its output: %w", err)
		}
		out.certificate = &pair
	}
	return out, nil
}
