package http

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tofu/internal/backend"
)

// TestFailuresNameTheAddress checks that the error of a request names the address that refused it,
// without its secrets.
func TestFailuresNameTheAddress(t *testing.T) {
	for _, status := range []int{401, 403, 413, 502, 504} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(status) }))
		defer server.Close()
		config := &Config{Address: server.URL + "/state/prod?env=a&token=s3cret", UpdateMethod: "PUT"}
		store, err := Driver.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		_, readErr := store.Get(t.Context(), backend.DefaultWorkspace)
		for _, err := range []error{readErr, store.Put(t.Context(), backend.DefaultWorkspace, []byte("{}"))} {
			if err == nil || !strings.Contains(err.Error(), server.URL+"/state/prod?env=a") ||
				strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%d: %v", status, err)
			}
		}
	}
}
