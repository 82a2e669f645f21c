package kubeauth

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	yaml "github.com/zclconf/go-cty-yaml"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Cluster holds the address of an API server and the settings to verify it.
type Cluster struct {
	Server     string          `json:"server"`
	ServerName string          `json:"tls-server-name"` // the name in the certificate, if it differs from the host
	Insecure   bool            `json:"insecure-skip-tls-verify"`
	CA         []byte          `json:"certificate-authority-data"` // PEM; nil to use the system's certificates
	CAFile     string          `json:"certificate-authority"`
	Proxy      string          `json:"proxy-url"`
	Extensions []namedSettings `json:"extensions"`
}

type namedSettings struct {
	Name      string          `json:"name"`
	Extension json.RawMessage `json:"extension"`
}

// User holds the credentials of a user.
type User struct {
	Token       Text   `json:"token"`
	TokenFile   string `json:"tokenFile"`
	Username    Text   `json:"username"`
	Password    Text   `json:"password"`
	Certificate []byte `json:"client-certificate-data"` // PEM
	Key         []byte `json:"client-key-data"`         // PEM
	Exec        *Exec  `json:"exec"`

	CertificateFile string `json:"client-certificate"`
	KeyFile         string `json:"client-key"`

	As       string              `json:"as"` // the user to impersonate
	AsUID    string              `json:"as-uid"`
	AsGroups []string            `json:"as-groups"`
	AsExtra  map[string][]string `json:"as-user-extra"`
}

// Exec describes a credential plugin.
type Exec struct {
	APIVersion  string     `json:"apiVersion"`
	Command     string     `json:"command"`
	Args        []string   `json:"args"`
	Env         []Variable `json:"env"`
	InstallHint string     `json:"installHint"`
	// Interactive says whether the plugin uses the terminal: Never, IfAvailable or Always.
	Interactive    string `json:"interactiveMode"`
	ProvideCluster bool   `json:"provideClusterInfo"`
}

// Variable is an environment variable of a plugin.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Text is a string that may also be written as a number without quotes.
type Text string

// UnmarshalJSON implements json.Unmarshaler.
func (s *Text) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	if len(text) > 0 && text[0] != '"' {
		*s = Text(text)
		return nil
	}
	return json.Unmarshal(text, (*string)(s))
}

// contextOf names a cluster and a user that belong together.
type contextOf struct {
	Cluster string `json:"cluster"`
	User    string `json:"user"`
}

// entry is an element of a list in a kubeconfig file. Apart from Name, one field is set, according
// to the list.
type entry struct {
	Name    string    `json:"name"`
	Cluster Cluster   `json:"cluster"`
	User    User      `json:"user"`
	Context contextOf `json:"context"`
}

// kubeconfig is the merged content of kubeconfig files. If several entries in a list have the same
// name, the first one is used.
type kubeconfig struct {
	Current  string  `json:"current-context"`
	Clusters []entry `json:"clusters"`
	Users    []entry `json:"users"`
	Contexts []entry `json:"contexts"`
}

// Selection names the parts of kubeconfig files to use. If Context is "", the current context of
// the files is used. If Cluster or User is set, it replaces the cluster or user of the context.
type Selection struct{ Context, Cluster, User string }

// Load returns the selected cluster and user. If several files define a value or an entry, the
// first definition is used. If nothing is selected and there is no current context, the cluster has
// no server.
func Load(paths []string, selected Selection) (*Cluster, *User, error) {
	all := new(kubeconfig)
	for _, path := range paths {
		if err := all.add(path); err != nil {
			return nil, nil, fmt.Errorf("the kubeconfig file %s: %w", path, err)
		}
	}
	if selected.Context == "" {
		selected.Context = all.Current
	}
	if selected.Context != "" {
		found, err := find(all.Contexts, "context", selected.Context)
		if err != nil {
			return nil, nil, err
		}
		if selected.Cluster == "" {
			selected.Cluster = found.Context.Cluster
		}
		if selected.User == "" {
			selected.User = found.Context.User
		}
	}
	cluster, err := find(all.Clusters, "cluster", selected.Cluster)
	if err != nil {
		return nil, nil, err
	}
	user, err := find(all.Users, "user", selected.User)
	if err != nil {
		return nil, nil, err
	}
	return &cluster.Cluster, &user.User, nil
}

// find returns the entry with the given name, or an empty entry if the name is "".
func find(entries []entry, what, name string) (*entry, error) {
	if name == "" {
		return new(entry), nil
	}
	for i := range entries {
		if entries[i].Name == name {
			return &entries[i], nil
		}
	}
	return nil, fmt.Errorf("the %s %q does not exist in the kubeconfig files", what, name)
}

// add adds the content of a kubeconfig file. Relative paths in it are relative to the directory of
// the file.
func (k *kubeconfig) add(path string) error {
	src, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var file kubeconfig
	if err := decode(src, &file); err != nil {
		return err
	}
	folder := filepath.Dir(path)
	for i := range file.Clusters {
		locate(folder, &file.Clusters[i].Cluster.CAFile)
	}
	for i := range file.Users {
		u := &file.Users[i].User
		locate(folder, &u.TokenFile)
		locate(folder, &u.CertificateFile)
		locate(folder, &u.KeyFile)
		if u.Exec != nil && filepath.Base(u.Exec.Command) != u.Exec.Command {
			locate(folder, &u.Exec.Command) // a command without a slash is searched for in PATH
		}
	}
	if k.Current == "" {
		k.Current = file.Current
	}
	k.Clusters = append(k.Clusters, file.Clusters...)
	k.Users = append(k.Users, file.Users...)
	k.Contexts = append(k.Contexts, file.Contexts...)
	return nil
}

// locate makes a path absolute. A relative path is relative to folder.
func locate(folder string, path *string) {
	if *path != "" && !filepath.IsAbs(*path) {
		*path = filepath.Join(folder, *path)
	}
}

// decode reads YAML or JSON.
func decode(src []byte, to *kubeconfig) error {
	if len(bytes.TrimSpace(src)) == 0 {
		return nil
	}
	ty, err := yaml.ImpliedType(src)
	if err != nil {
		return err
	}
	value, err := yaml.Unmarshal(src, ty)
	if err != nil {
		return err
	}
	text, err := ctyjson.Marshal(value, ty)
	if err != nil {
		return err
	}
	err = json.Unmarshal(text, to)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		// the value may be a secret
		return fmt.Errorf("%s has a value of the wrong type: %s", cmp.Or(wrong.Field, "the document"), wrong.Value)
	}
	return err
}
