package synth

import (
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"

	"tofu/testing/providers/prototest"
)

func TestSize(t *testing.T) {
	t.Setenv("SYNTH_TYPES", "7")
	t.Setenv("SYNTH_ATTRIBUTES", "3")
	size, err := SizeFromEnv()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := providerserver.NewProtocol6(New(size, "test"))().GetProviderSchema(t.Context(),
		&tfprotov6.GetProviderSchemaRequest{})
	if err != nil || len(resp.Diagnostics) > 0 {
		t.Fatal(err, resp.Diagnostics)
	}
	if len(resp.ResourceSchemas) != 7 || len(resp.ResourceSchemas["synth_t6"].Block.Attributes) != 4+3 {
		t.Errorf("got %d resource types", len(resp.ResourceSchemas))
	}
	if !resp.ServerCapabilities.GetProviderSchemaOptional {
		t.Error("the schema call is not announced as optional")
	}
	t.Setenv("SYNTH_TYPES", "many")
	if _, err := SizeFromEnv(); err == nil {
		t.Error("SYNTH_TYPES=many was accepted")
	}
}

func TestThing(t *testing.T) {
	c := prototest.New(t, providerserver.NewProtocol6(New(Size{Types: 2}, "test"))(), `{}`)
	o, err := c.Apply(t.Context(), "synth_t1", nil, `{"name": "n", "input": "one"}`)
	if err != nil || o.Text("id") != "id-n" || o.Text("output") != "one" {
		t.Fatal(o.Text("id"), o.Text("output"), err)
	}
	o, err = c.Apply(t.Context(), "synth_t1", o, `{"name": "n", "input": "two"}`)
	if err != nil ||
		o.Text("output") != "two" {
		t.Error(o.Text("output"), err)
	}
	if err := c.Destroy(t.Context(), "synth_t1", o); err != nil {
		t.Error(err)
	}
}
