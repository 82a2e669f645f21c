package kubernetes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"testing"

	"tofu/internal/kubeauth"
)

// TestWorkers applies the Deployment and the CronJob of the example with workers to a real API server, if there is one. It
// refuses fields that it doesn't know.
func TestWorkers(t *testing.T) {
	cluster, user, err := kubeauth.Load([]string{realServer(t)}, kubeauth.Selection{})
	check(t, err)
	client, err := kubeauth.NewClient(cluster, user)
	check(t, err)
	defer client.Close()
	text, err := os.ReadFile("../../../examples/workers/deployment.yaml")
	check(t, err)
	var found []string
	for doc := range bytes.SplitSeq(text, []byte("\n---\n")) {
		path := "/apis/apps/v1/namespaces/default/deployments/tofu-worker-eu"
		if bytes.Contains(doc, []byte("kind: CronJob")) {
			path = "/apis/batch/v1/namespaces/default/cronjobs/tofu-plan"
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, cluster.Server+path+"?fieldManager=test&fieldValidation=Strict",
			bytes.NewReader(doc))
		check(t, err)
		req.Header.Set("Content-Type", "application/apply-patch+yaml")
		resp, err := client.Do(req)
		check(t, err)
		answer, err := io.ReadAll(resp.Body)
		check(t, errors.Join(err, resp.Body.Close()))
		var applied struct {
			Kind, Message string
			Spec          struct{ Replicas int }
		}
		check(t, json.Unmarshal(answer, &applied))
		if applied.Kind == "Deployment" && applied.Spec.Replicas != 4 {
			t.Errorf("the server has stored %s", answer)
		}
		found = append(found, applied.Kind+applied.Message)
	}
	if want := []string{"Deployment", "CronJob"}; !slices.Equal(found, want) {
		t.Errorf("the server has applied %q, not %q", found, want)
	}
}
