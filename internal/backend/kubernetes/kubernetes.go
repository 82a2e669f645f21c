package kubernetes

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"tofu/internal/backend"
	"tofu/internal/restapi"
)

const (
	// dataKey is the key of the state in a secret.
	dataKey = "tfstate"
	// maxData is the maximum size of the data of a secret in bytes.
	maxData = 1 << 20
)

// Store keeps states in the secrets of a namespace.
type Store struct {
	config Config
	client *restapi.Client
	base   *url.URL
}

func (c *Config) secretName(workspace string) string { return "tfstate-" + workspace + "-" + c.Suffix }

// List implements backend.Store. It doesn't read the data of secrets.
func (s *Store) List(ctx context.Context) ([]string, error) {
	var list struct{ Items []object }
	err := s.list(ctx, secrets, stateLabel+"=true,"+suffixLabel+"="+s.config.Suffix, &list)
	if err != nil {
		return nil, fmt.Errorf("listing the workspaces: %w", err)
	}
	var names []string
	for _, secret := range list.Items {
		if name := secret.Metadata.Labels[workspaceLabel]; name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Get implements backend.Store.
func (s *Store) Get(ctx context.Context, workspace string) ([]byte, error) {
	data, _, err := s.GetVersion(ctx, workspace)
	return data, err
}

// GetVersion implements backend.Swapper.
func (s *Store) GetVersion(ctx context.Context, workspace string) ([]byte, string, error) {
	secret, err := s.secret(ctx, workspace)
	if errors.Is(err, errNotFound) {
		return nil, "", nil
	}
	data := []byte{} // the state of a secret without data
	if err == nil && len(secret.Data[dataKey]) > 0 {
		data, err = backend.Unzip(secret.Data[dataKey])
	}
	if err != nil {
		return nil, "", fmt.Errorf("reading the state: %w", err)
	}
	return data, secret.Metadata.ResourceVersion, nil
}

func (s *Store) secret(ctx context.Context, workspace string) (*object, error) {
	if err := checkWorkspace(workspace); err != nil {
		return nil, err
	}
	secret := new(object)
	err := s.call(ctx, http.MethodGet, secrets, s.config.secretName(workspace), nil, secret)
	if err == nil && secret.Metadata.Labels[stateLabel] != "true" {
		return nil, fmt.Errorf("the secret %q isn't a state: it doesn't have the label %s=true",
			secret.Metadata.Name, stateLabel)
	}
	return secret, err
}

// zip compresses a state. It returns an error if the result doesn't fit into a secret.
func zip(data []byte) ([]byte, error) {
	size := 0
	for _, level := range []int{gzip.DefaultCompression, gzip.BestCompression} {
		out, err := backend.Zip(data, level)
		if err != nil || len(out) <= maxData {
			return out, err
		}
		size = len(out)
	}
	return nil, fmt.Errorf("it has %d bytes after compression, but a secret can't have more than %d: divide the "+
		"configuration, or move the state to a backend without this limit", size, maxData)
}

// Put implements backend.Store.
func (s *Store) Put(ctx context.Context, workspace string, data []byte) error {
	for attempt := 0; ; attempt++ {
		secret, err := s.secret(ctx, workspace)
		if err != nil && !errors.Is(err, errNotFound) {
			return fmt.Errorf("writing the state: %w", err)
		}
		version := ""
		if err == nil {
			version = secret.Metadata.ResourceVersion
		}
		_, err = s.Swap(ctx, workspace, version, data)
		if !errors.Is(err, backend.ErrChanged) || attempt == 2 {
			return err
		}
	}
}

// Swap implements backend.Swapper.
func (s *Store) Swap(ctx context.Context, workspace, version string, data []byte) (string, error) {
	if err := checkWorkspace(workspace); err != nil {
		return "", fmt.Errorf("writing the state: %w", err)
	}
	secret := s.newObject(secrets, s.config.secretName(workspace), workspace)
	secret.Metadata.Annotations = map[string]string{"encoding": "gzip"}
	secret.Metadata.ResourceVersion = version
	packed, err := zip(data)
	if err != nil {
		return "", fmt.Errorf("writing the state: %w", err)
	}
	secret.Data = map[string][]byte{dataKey: packed}
	method, name := http.MethodPut, secret.Metadata.Name
	if version == "" {
		method, name = http.MethodPost, ""
	}
	stored := new(object)
	err = s.call(ctx, method, secrets, name, secret, stored)
	switch {
	case err == nil:
		return stored.Metadata.ResourceVersion, nil
	case conflicts(err) || errors.Is(err, errNotFound):
		return s.written(ctx, workspace, version, packed)
	}
	return "", fmt.Errorf("writing the state: %w", err)
}

// written returns the version of a secret that already has the data, as after a write whose
// response was lost. If the secret has other data, the error is backend.ErrChanged.
func (s *Store) written(ctx context.Context, workspace, old string, packed []byte) (string, error) {
	secret, err := s.secret(ctx, workspace)
	switch {
	case errors.Is(err, errNotFound):
	case err != nil:
		return "", fmt.Errorf("writing the state: %w", err)
	case secret.Metadata.ResourceVersion != old && bytes.Equal(secret.Data[dataKey], packed):
		return secret.Metadata.ResourceVersion, nil
	}
	return "", fmt.Errorf("writing the state: %w", backend.ErrChanged)
}

// Delete implements backend.Store.
func (s *Store) Delete(ctx context.Context, workspace string) error {
	_, err := s.secret(ctx, workspace) // a secret that isn't a state is an error
	if err == nil {
		err = s.call(ctx, http.MethodDelete, secrets, s.config.secretName(workspace), nil, nil)
	}
	if err == nil || errors.Is(err, errNotFound) {
		err = s.removeLease(ctx, workspace)
	}
	if err != nil {
		return fmt.Errorf("deleting the state: %w", err)
	}
	return nil
}
