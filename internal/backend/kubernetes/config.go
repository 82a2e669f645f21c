package kubernetes

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/configs/blocks"
	"tofu/internal/httpclient"
	"tofu/internal/kubeauth"
	"tofu/internal/restapi"
)

// Config is the configuration of the backend block.
type Config struct {
	backend.Sharing
	Suffix         string            `cfg:"secret_suffix,required"`
	Labels         map[string]string `cfg:"labels"`
	Namespace      string            `cfg:"namespace" env:"KUBE_NAMESPACE" default:"default"`
	InCluster      bool              `cfg:"in_cluster_config" env:"KUBE_IN_CLUSTER_CONFIG" default:"false"`
	LoadConfigFile bool              `cfg:"load_config_file" default:"true"`
	Host           string            `cfg:"host" env:"KUBE_HOST"`
	Username       string            `cfg:"username" env:"KUBE_USER"`
	Password       string            `cfg:"password,sensitive" env:"KUBE_PASSWORD"`
	Insecure       bool              `cfg:"insecure" env:"KUBE_INSECURE" default:"false"`
	ClientCert     string            `cfg:"client_certificate" env:"KUBE_CLIENT_CERT_DATA"`
	ClientKey      string            `cfg:"client_key,sensitive" env:"KUBE_CLIENT_KEY_DATA"`
	ClusterCA      string            `cfg:"cluster_ca_certificate" env:"KUBE_CLUSTER_CA_CERT_DATA"`
	ConfigPaths    []string          `cfg:"config_paths"`
	ConfigPath     string            `cfg:"config_path" env:"KUBE_CONFIG_PATH"`
	Context        string            `cfg:"config_context" env:"KUBE_CTX"`
	ContextUser    string            `cfg:"config_context_auth_info" env:"KUBE_CTX_AUTH_INFO"`
	ContextCluster string            `cfg:"config_context_cluster" env:"KUBE_CTX_CLUSTER"`
	Token          string            `cfg:"token,sensitive" env:"KUBE_TOKEN"`
	Exec           *Exec             `cfg:"exec,block"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"secret_suffix":          "The end of the names of secrets, tfstate-{workspace}-{secret_suffix}.",
		"labels":                 "Additional labels of secrets and leases.",
		"namespace":              "The namespace of secrets and leases.",
		"in_cluster_config":      "Whether to use the service account of the pod that this program runs in.",
		"load_config_file":       "Has no effect.",
		"host":                   "The address of the API server.",
		"username":               "The user for HTTP basic authentication.",
		"password":               "The password for HTTP basic authentication.",
		"insecure":               "Whether to skip the verification of the server's certificate.",
		"client_certificate":     "The certificate (PEM) that authenticates the client.",
		"client_key":             "The private key (PEM) of client_certificate.",
		"cluster_ca_certificate": "The CA certificates (PEM) used to verify the server.",
		"config_paths": "The paths of kubeconfig files, also in the environment variable " +
			"KUBE_CONFIG_PATHS.",
		"config_path":              "The path of the kubeconfig file.",
		"config_context":           "The context to choose in the kubeconfig file.",
		"config_context_auth_info": "The user to choose in the kubeconfig file.",
		"config_context_cluster":   "The cluster to choose in the kubeconfig file.",
		"token":                    "The bearer token of a service account.",
		"exec":                     "A program that prints credentials.",
	}
}

// Deprecated implements blocks.Deprecating.
func (*Config) Deprecated() blocks.Docs {
	return blocks.Docs{"load_config_file": "It has no effect. Set config_path or config_paths to use a " +
		"kubeconfig file."}
}

// Exec is the block of a credential plugin.
type Exec struct {
	APIVersion string            `cfg:"api_version,required"`
	Command    string            `cfg:"command,required"`
	Args       []string          `cfg:"args"`
	Env        map[string]string `cfg:"env"`
}

// Docs implements blocks.Documented.
func (*Exec) Docs() blocks.Docs {
	return blocks.Docs{
		"api_version": "The version of the plugin's protocol, such as client.authentication.k8s.io/v1.",
		"command":     "The program to run.",
		"args":        "The arguments of the program.",
		"env":         "Additional environment variables of the program.",
	}
}

// Driver is the kubernetes backend.
var Driver = backend.New("kubernetes", open)

var (
	validSuffix = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)
	validLabel  = regexp.MustCompile(`^([A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?$`)
)

// longestLabel is the maximum length of a label's value in bytes.
const longestLabel = 63

// Check implements blocks.Checker.
func (c *Config) Check() error {
	if !validSuffix.MatchString(c.Suffix) || len(c.Suffix) > longestLabel {
		return blocks.Invalid([]string{"secret_suffix"}, "it is part of the names of secrets and of labels, so it "+
			"must consist of at most %d lower case letters, digits, hyphens and dots", longestLabel)
	}
	for name, value := range c.Labels {
		if !validLabel.MatchString(value) || len(value) > longestLabel {
			return blocks.Invalid([]string{"labels"}, "the value %q of the label %q must consist of at most %d "+
				"letters, digits, hyphens, underscores and dots", value, name, longestLabel)
		}
	}
	if (c.ClientCert == "") != (c.ClientKey == "") {
		return blocks.Invalid([]string{"client_certificate"}, "it must be set together with \"client_key\"")
	}
	return nil
}

func open(_ context.Context, c *Config) (backend.Store, error) {
	cluster, user, err := c.cluster()
	if err != nil {
		return nil, fmt.Errorf("reading the settings of the cluster: %w", err)
	}
	client, err := backend.Client(&c.Sharing, backend.Settings(c, "secret_suffix", "labels", "namespace"),
		func() (*httpclient.Client, error) { return kubeauth.NewClient(cluster, user) })
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(cluster.Server)
	if err != nil {
		return nil, err
	}
	return &Store{config: *c, client: &restapi.Client{HTTP: client}, base: base}, nil
}

// cluster returns the cluster and the credentials from the kubeconfig files, where arguments of the
// block take precedence. Without such files, in_cluster_config selects those of the pod.
func (c *Config) cluster() (*kubeauth.Cluster, *kubeauth.User, error) {
	paths, err := c.configPaths()
	if err != nil {
		return nil, nil, err
	}
	load := func() (*kubeauth.Cluster, *kubeauth.User, error) {
		return kubeauth.Load(paths,
			kubeauth.Selection{Context: c.Context, Cluster: c.ContextCluster, User: c.ContextUser})
	}
	if len(paths) == 0 && c.InCluster {
		load = kubeauth.Pod
	}
	cluster, user, err := load()
	if err != nil {
		return nil, nil, err
	}
	c.replaceCluster(cluster)
	c.replaceUser(user)
	switch {
	case cluster.Server == "" && len(paths) > 0:
		return nil, nil, fmt.Errorf("the kubeconfig (%s) does not select a cluster with a server address; set host, "+
			"config_context or config_context_cluster", strings.Join(paths, ", "))
	case cluster.Server == "":
		cluster.Server = "https://localhost"
	}
	return cluster, user, nil
}

// replaceCluster replaces the parts of cluster that arguments of the block describe.
func (c *Config) replaceCluster(cluster *kubeauth.Cluster) {
	switch {
	case c.Host != "" && !strings.Contains(c.Host, "://"):
		cluster.Server = "https://" + c.Host
	case c.Host != "":
		cluster.Server = c.Host
	}
	if c.ClusterCA != "" {
		cluster.CA = []byte(c.ClusterCA)
	}
	cluster.Insecure = cluster.Insecure || c.Insecure
}

// replaceUser applies the credentials in the arguments. They replace the user's credentials of the
// same kind.
func (c *Config) replaceUser(user *kubeauth.User) {
	if c.Token != "" || c.Username != "" || c.Exec != nil {
		user.Token, user.TokenFile, user.Exec = kubeauth.Text(c.Token), "", c.plugin()
		user.Username, user.Password = kubeauth.Text(c.Username), kubeauth.Text(c.Password)
	}
	if c.ClientCert != "" {
		user.Certificate, user.Key = []byte(c.ClientCert), []byte(c.ClientKey)
	}
}

// plugin returns the settings of the exec block. It returns nil if the configuration has no such
// block.
func (c *Config) plugin() *kubeauth.Exec {
	if c.Exec == nil {
		return nil
	}
	out := &kubeauth.Exec{APIVersion: c.Exec.APIVersion, Command: c.Exec.Command, Args: c.Exec.Args,
		Interactive: kubeauth.IfAvailable}
	for name, value := range c.Exec.Env {
		out.Env = append(out.Env, kubeauth.Variable{Name: name, Value: value})
	}
	return out
}

// configPaths returns the paths of the kubeconfig files, from the arguments or KUBE_CONFIG_PATHS. A
// file that can't be found is an error.
func (c *Config) configPaths() ([]string, error) {
	paths := c.ConfigPaths
	if c.ConfigPath != "" {
		paths = []string{c.ConfigPath}
	} else if len(paths) == 0 {
		paths = filepath.SplitList(os.Getenv("KUBE_CONFIG_PATHS"))
	}
	var out []string
	for _, path := range paths {
		if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, err
			}
			path = home + rest
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("the kubeconfig file can't be read: %w", err)
		}
		out = append(out, path)
	}
	return out, nil
}

// Identity implements backend.Identifier. If the cluster can't be determined, the identity contains
// the settings that select it instead.
func (c *Config) Identity(workspace, _ string) ([]string, error) {
	server := strings.Join(append([]string{c.Host, c.ConfigPath, c.Context, c.ContextCluster}, c.ConfigPaths...), " ")
	if cluster, _, err := c.cluster(); err == nil {
		server = strings.TrimSuffix(cluster.Server, "/")
	}
	return []string{"kubernetes", server, c.Namespace, c.secretName(workspace)}, nil
}
