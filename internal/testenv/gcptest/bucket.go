package gcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"

	"tofu/internal/testenv"
)

// Bucket is a bucket of the service.
type Bucket struct {
	server *Server
	name   string
}

// MakeBucket creates a bucket.
func (s *Server) MakeBucket(ctx context.Context, name string) (*Bucket, error) {
	b := &Bucket{s, name}
	_, err := b.call(ctx, http.MethodPost, "?project=project", strings.NewReader(fmt.Sprintf(`{"name": %q}`, name)))
	return b, err
}

// call sends a request to the service.
func (b *Bucket) call(ctx context.Context, method, path string, body io.Reader) (*httptest.ResponseRecorder, error) {
	r := httptest.NewRequestWithContext(ctx, method, "https://storage.googleapis.com/storage/v1/b"+path, body)
	r.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	b.server.storage.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("%s %s: %d %s", method, path, w.Code, w.Body)
	}
	return w, nil
}

// Dump describes all objects, one per line. It omits the parts that differ between runs or between
// programs.
func (b *Bucket) Dump(ctx context.Context) (string, error) {
	w, err := b.call(ctx, http.MethodGet, "/"+b.name+"/o", nil)
	if err != nil {
		return "", err
	}
	var page struct {
		Items []struct{ Name, ContentType string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil {
		return "", err
	}
	var lines []string
	for _, item := range page.Items {
		w, err := b.call(ctx, http.MethodGet, "/"+b.name+"/o/"+url.PathEscape(item.Name)+"?alt=media", nil)
		if err != nil {
			return "", err
		}
		text := strings.ReplaceAll(strings.TrimSpace(w.Body.String()), b.name, "BUCKET")
		lines = append(lines, fmt.Sprintf("%s %s %s\n", item.Name, item.ContentType, testenv.Plain(text)))
	}
	slices.Sort(lines)
	return strings.Join(lines, ""), nil
}
