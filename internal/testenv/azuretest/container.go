package azuretest

import (
	"context"
	"encoding/base64"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"

	"tofu/internal/testenv"
)

// AccessKey returns the access key of the storage account.
func (s *Server) AccessKey() string { return s.accessKey }

// Container is a container of the storage account.
type Container struct {
	server *Server
	name   string
}

// MakeContainer creates a container in the storage account.
func (s *Server) MakeContainer(ctx context.Context, name string) (*Container, error) {
	c := &Container{s, name}
	_, err := c.call(ctx, http.MethodPut, "?restype=container", nil, http.StatusCreated)
	return c, err
}

// call sends a request with an access token to the storage account. It returns an error if the
// status of the response is not want.
func (c *Container) call(
	ctx context.Context, method, path string, header http.Header, want int,
) (*httptest.ResponseRecorder, error) {
	r := httptest.NewRequestWithContext(ctx, method, "https://"+Account+".blob.core.windows.net/"+c.name+path, nil)
	r.Header.Set("Authorization", "Bearer "+c.server.Token("https://storage.azure.com"))
	r.Header.Set("X-Ms-Version", "2021-12-02")
	maps.Copy(r.Header, header)
	w := httptest.NewRecorder()
	c.server.blobs.ServeHTTP(w, r)
	if w.Code != want {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w, nil
}

// BreakLease breaks the lease of a blob immediately. It returns an error if there is no lease.
func (c *Container) BreakLease(ctx context.Context, name string) error {
	_, err := c.call(ctx, http.MethodPut, "/"+url.PathEscape(name)+"?comp=lease",
		http.Header{"X-Ms-Lease-Action": {"break"}, "X-Ms-Lease-Break-Period": {"0"}}, http.StatusAccepted)
	return err
}

// Dump describes all blobs, one per line. It omits the parts that differ between runs or between
// programs.
func (c *Container) Dump(ctx context.Context) (string, error) {
	w, err := c.call(ctx, http.MethodGet, "?restype=container&comp=list", nil, http.StatusOK)
	if err != nil {
		return "", err
	}
	var page struct {
		Names []string `xml:"Blobs>Blob>Name"`
	}
	if err := xml.Unmarshal(w.Body.Bytes(), &page); err != nil {
		return "", err
	}
	slices.Sort(page.Names)
	var out strings.Builder
	for _, name := range page.Names {
		w, err := c.call(ctx, http.MethodGet, "/"+url.PathEscape(name), nil, http.StatusOK)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&out, "%s %s lease=%s,%s", name, w.Header().Get("Content-Type"), w.Header().Get("X-Ms-Lease-State"),
			w.Header().Get("X-Ms-Lease-Duration"))
		for header := range w.Header() {
			if !strings.HasPrefix(header, "X-Ms-Meta-") {
				continue
			}
			text, err := base64.StdEncoding.DecodeString(w.Header().Get(header))
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, " %s=%s", header, testenv.Plain(strings.ReplaceAll(string(text), c.name, "CONTAINER")))
		}
		fmt.Fprintf(&out, " %s\n", testenv.Plain(strings.TrimSpace(w.Body.String())))
	}
	return out.String(), nil
}
