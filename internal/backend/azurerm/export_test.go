package azurerm

import (
	"context"
	"encoding/xml"
	"net/http"
	"net/url"
)

// CreateContainer creates the container of a store.
func CreateContainer(ctx context.Context, s *Store) error {
	resp, err := s.blobs.call(ctx, request{method: http.MethodPut, query: url.Values{"restype": {"container"}}})
	if err == nil && resp.Status != http.StatusCreated {
		err = s.blobs.failure(resp)
	}
	return err
}

// Properties returns the properties and metadata of the default workspace's blob.
func Properties(ctx context.Context, s *Store) (http.Header, error) {
	resp, err := s.blobs.call(ctx, request{method: http.MethodHead, blob: s.blobs.config.Key, encrypted: true})
	if err != nil {
		return nil, err
	}
	return resp.Header, nil
}

// SetMetadata replaces the metadata of the default workspace's blob.
func SetMetadata(ctx context.Context, s *Store, metadata map[string]string) error {
	known := &blob{metadata: make(map[string]string)}
	for name, value := range metadata {
		known.metadata[metadataPrefix+name] = value
	}
	return s.blobs.setMetadata(ctx, s.blobs.config.Key, known, "", "")
}

// Snapshots returns the number of snapshots of the default workspace's blob.
func Snapshots(ctx context.Context, s *Store) (int, error) {
	resp, err := s.blobs.call(ctx, request{method: http.MethodGet, query: url.Values{"restype": {"container"},
		"comp": {"list"}, "include": {"snapshots"}}})
	if err != nil {
		return 0, err
	}
	var page struct {
		Snapshots []string `xml:"Blobs>Blob>Snapshot"`
	}
	err = xml.Unmarshal(resp.Body, &page)
	return len(page.Snapshots), err
}

// StringToSign exports stringToSign.
var StringToSign = stringToSign
