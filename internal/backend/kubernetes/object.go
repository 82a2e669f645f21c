package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/restapi"
)

// maxResponse is the maximum size of a response in bytes. Objects are smaller than 2 MiB, and lists
// don't include the data of secrets.
const maxResponse = 16 << 20

// object is a secret or a lease. Its fields are those that this package reads or writes.
type object struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   metadata          `json:"metadata"`
	Type       string            `json:"type,omitempty"` // secrets only
	Data       map[string][]byte `json:"data,omitempty"` // secrets only
	Spec       *leaseSpec        `json:"spec,omitempty"` // leases only
}

type metadata struct {
	Name            string            `json:"name"`
	Namespace       string            `json:"namespace"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	UID             string            `json:"uid,omitempty"`
}

type leaseSpec struct {
	Holder string `json:"holderIdentity,omitempty"`
}

// kind describes a kind of object and its path in the API.
type kind struct {
	name, apiVersion, path, collection string
}

var (
	secrets = kind{"Secret", "v1", "/api/v1", "secrets"}
	leases  = kind{"Lease", "coordination.k8s.io/v1", "/apis/coordination.k8s.io/v1", "leases"}
)

const (
	suffixLabel    = "tfstateSecretSuffix"
	workspaceLabel = "tfstateWorkspace"
	stateLabel     = "tfstate"
	managerLabel   = "app.kubernetes.io/managed-by"
)

// errNotFound is returned for an object that doesn't exist.
var errNotFound = errors.New("the object doesn't exist")

// statusError is an error response of the API server.
type statusError struct {
	status  int
	Reason  string
	Message string
}

func (e *statusError) Error() string { return e.Message }

// conflicts reports whether an error says that an object was changed or created in the meantime.
func conflicts(err error) bool {
	refused, ok := errors.AsType[*statusError](err)
	return ok && refused.status == http.StatusConflict
}

// newObject returns an object of a workspace with its labels.
func (s *Store) newObject(k kind, name, workspace string) *object {
	labels := map[string]string{stateLabel: "true", suffixLabel: s.config.Suffix, workspaceLabel: workspace,
		managerLabel: "terraform"}
	maps.Copy(labels, s.config.Labels)
	return &object{APIVersion: k.apiVersion, Kind: k.name,
		Metadata: metadata{Name: name, Namespace: s.config.Namespace, Labels: labels}}
}

// call sends a request for an object of a kind, or for the collection of these objects if name is
// "", and decodes the response into out.
func (s *Store) call(ctx context.Context, method string, k kind, name string, in, out any) error {
	return s.send(ctx, &request{method: method, kind: k, name: name, accept: "application/json", in: in}, out)
}

// list reads all objects of a kind that match a label selector, without their data, and decodes the
// list into out.
func (s *Store) list(ctx context.Context, k kind, selector string, out any) error {
	const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1, application/json"
	return s.send(ctx, &request{method: http.MethodGet, kind: k, accept: metadataOnly,
		query: "labelSelector=" + url.QueryEscape(selector)}, out)
}

// request is a request for an object of a kind, or for the collection of these objects if name is
// "".
type request struct {
	method, name string
	kind         kind
	query        string
	accept       string // accepted content types
	in           any    // encoded as JSON; nil for no body
}

func (s *Store) send(ctx context.Context, r *request, out any) error {
	to := *s.base
	to.Path = strings.TrimSuffix(to.Path, "/") + r.kind.path + "/namespaces/" + s.config.Namespace + "/" +
		r.kind.collection
	if r.name != "" {
		to.Path += "/" + r.name
	}
	to.RawQuery = r.query
	req := &restapi.Request{Method: r.method, URL: &to, Limit: maxResponse, Header: http.Header{"Accept": {r.accept}}}
	if r.in != nil {
		var err error
		req.Body, err = json.Marshal(r.in)
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(ctx, req)
	switch {
	case err != nil:
		return err
	case resp.Status >= http.StatusMultipleChoices:
		return s.failure(resp, r.name != "" && r.method != http.MethodPost)
	case out == nil:
		return nil
	}
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return fmt.Errorf("the response from the API server is invalid: %w", err)
	}
	return nil
}

// failure returns the error of an unsuccessful response. If the parameter one is true, the request
// was for a single object, so the status 404 means that the object doesn't exist.
func (s *Store) failure(resp *restapi.Response, one bool) error {
	refused := &statusError{status: resp.Status}
	if json.Unmarshal(resp.Body, refused) != nil || refused.Message == "" {
		refused.Message = resp.Failure().Error()
	}
	switch {
	case resp.Status == http.StatusNotFound && one:
		return errNotFound
	case resp.Status == http.StatusUnauthorized:
		source := s.config.source()
		if source == "" {
			return fmt.Errorf("the cluster requires credentials (%w); set config_path, in_cluster_config, token, "+
				"client_certificate or exec", refused)
		}
		return fmt.Errorf("the cluster refused the credentials (%w), which come from %s", refused, source)
	case resp.Status == http.StatusForbidden:
		return fmt.Errorf("the cluster refused the request: %w", refused)
	}
	return refused
}

// source describes where the credentials come from. It returns "" if there are none.
func (c *Config) source() string {
	switch paths, _ := c.configPaths(); {
	case c.Exec != nil:
		return fmt.Sprintf("the program %q in the \"exec\" block", c.Exec.Command)
	case c.Token != "":
		return "the argument \"token\" or KUBE_TOKEN"
	case c.Username != "":
		return "the arguments \"username\" and \"password\", or KUBE_USER and KUBE_PASSWORD"
	case c.ClientCert != "":
		return "the argument \"client_certificate\" or KUBE_CLIENT_CERT_DATA"
	case len(paths) > 0:
		return strings.Join(paths, ", ")
	case c.InCluster:
		return "the service account of the pod"
	}
	return ""
}

// checkWorkspace returns an error if a workspace can't be part of the names of objects.
func checkWorkspace(name string) error {
	if !validSuffix.MatchString(name) || len(name) > longestLabel {
		return fmt.Errorf("%w: it is part of the names of secrets, so it must consist of at most %d lower case "+
			"letters, digits, hyphens and dots", backend.ErrWorkspaceName, longestLabel)
	}
	return nil
}
