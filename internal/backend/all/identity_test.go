package all_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"tofu/internal/backend/all"
	"tofu/internal/configs/blocks"
	"tofu/internal/tfdiags"
)

// identity returns the identity of a workspace's state in the named backend. settings is an object
// in HCL syntax; environment variables are ignored.
func identity(t *testing.T, backend, settings, workspace string) []string {
	t.Helper()
	expr, diags := hclsyntax.ParseExpression([]byte(settings), "settings", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	value, diags := expr.Value(nil)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	driver, err := all.Driver(backend)
	if err != nil {
		t.Fatal(err)
	}
	config := driver.Config()
	value, err = blocks.Schema(config).CoerceValue(value)
	if err == nil {
		err = blocks.Decode(value, config, func(string) string { return "" }, tfdiags.Drop)
	}
	if err != nil {
		t.Fatalf("%s %s: %s", backend, settings, tfdiags.FormatError(err))
	}
	id, err := config.Identity(workspace, "dir")
	if err != nil {
		t.Fatalf("%s %s: %v", backend, settings, err)
	}
	if strings.Contains(strings.Join(id, " "), "s3cret") {
		t.Errorf("%s %s: a secret is in %q", backend, settings, id)
	}
	return id
}

// TestIdentities checks which settings identify the same state. Every backend has a row.
func TestIdentities(t *testing.T) {
	t.Setenv("KUBE_CONFIG_PATHS", "")
	seen := make(map[string]bool)
	for _, c := range []struct {
		backend, settings, workspace string
		same                         string // other settings for the same state
		other                        string // settings for another state
	}{
		{"local", `{}`, "default", `{path = "./x/../terraform.tfstate"}`, `{path = "other.tfstate"}`},
		{"azurerm",
			`{storage_account_name = "acct", container_name = "c", key = "k", access_key = "czNjcmV0"}`, "default",
			`{storage_account_name = "acct", container_name = "c", key = "k", use_azuread_auth = true, tenant_id = "t",
			  client_id = "c", client_secret = "s3cret", subscription_id = "s", snapshot = true}`,
			`{storage_account_name = "acct", container_name = "c", key = "l", access_key = "czNjcmV0"}`},
		{"consul", `{path = "p", address = "consul:8500", access_token = "s3cret"}`, "a",
			`{path = "p", address = "http://consul:8500", lock = false}`, `{path = "q", address = "consul:8500"}`},
		{"cos", `{region = "r", bucket = "b-1", secret_id = "i", secret_key = "s3cret"}`, "a",
			`{region = "r", bucket = "b-1", prefix = "env:", encrypt = false}`,
			`{region = "r", bucket = "b-1", prefix = "p"}`},
		{"gcs", `{bucket = "b", prefix = "p", access_token = "s3cret"}`, "a",
			`{bucket = "b", prefix = "p/", storage_custom_endpoint = "https://storage.googleapis.com/storage/v1/b"}`,
			`{bucket = "b", prefix = "q"}`},
		{"http", `{address = "https://u:s3cret@Host.example:443/a?token=s3cret"}`, "default",
			`{address = "https://host.example/a?token=s3cret", lock_address = "https://host.example/lock"}`,
			`{address = "https://host.example/b?token=s3cret"}`},
		{"kubernetes", `{secret_suffix = "s", host = "https://cluster/", token = "s3cret"}`, "a",
			`{secret_suffix = "s", host = "https://cluster", insecure = true, namespace = "default"}`,
			`{secret_suffix = "s", host = "https://cluster", namespace = "n"}`},
		{"oss", `{region = "r", bucket = "b", secret_key = "s3cret"}`, "a",
			`{region = "r", bucket = "b", encrypt = true}`,
			`{region = "r", bucket = "b", key = "k"}`},
		{"pg", `{conn_str = "postgres://u:s3cret@DB.example/states"}`, "a",
			`{conn_str = "host=db.example port=5432 dbname=states user=other sslmode=disable", ` +
				`skip_table_creation = true}`,
			`{conn_str = "postgres://db.example/states", schema_name = "s"}`},
		{"postgres", `{conn_str = "postgres://u:s3cret@db.example/states"}`, "a",
			`{conn_str = "postgres://db.example:5432/states", keep = "90d"}`,
			`{conn_str = "postgres://db.example:5433/states"}`},
		{"remote",
			`{hostname = "H.example", organization = "o", token = "s3cret", workspaces = {name = "net"}}`, "default",
			`{hostname = "h.example", organization = "o", workspaces = {name = "net"}}`,
			`{hostname = "h.example", organization = "o", workspaces = {prefix = "net-"}}`},
		{"s3", `{bucket = "b", key = "k", region = "eu-west-1", secret_key = "s3cret", access_key = "a"}`, "w",
			`{bucket = "b", key = "k", region = "us-east-1", use_lockfile = true, workspace_key_prefix = "env:"}`,
			`{bucket = "b", key = "k", region = "eu-west-1", endpoints = {s3 = "https://other.example"}}`},
	} {
		seen[c.backend] = true
		id := identity(t, c.backend, c.settings, c.workspace)
		if same := identity(t, c.backend, c.same, c.workspace); !slices.Equal(id, same) {
			t.Errorf("%s: %q and %q are the same state", c.backend, id, same)
		}
		if other := identity(t, c.backend, c.other, c.workspace); slices.Equal(id, other) {
			t.Errorf("%s: %s and %s are two states, and not both %q", c.backend, c.settings, c.other, id)
		}
	}
	for _, d := range all.Drivers() {
		if !seen[d.Name] && d.Name != "cloud" && d.Name != "inmem" {
			t.Errorf("there is no row for %s", d.Name)
		}
	}
}

// TestIdentityOfWorkspaces checks that different workspaces have different identities, and that a
// workspace has one identity even if settings name it in different ways.
func TestIdentityOfWorkspaces(t *testing.T) {
	one, two := identity(t, "s3", `{bucket = "b", key = "k", region = "eu-west-1"}`, "default"),
		identity(t, "s3", `{bucket = "b", key = "k", region = "eu-west-1"}`, "w")
	if slices.Equal(one, two) {
		t.Errorf("two workspaces are both %q", one)
	}
	direct := identity(t, "s3", `{bucket = "b", key = "env:/w/k", region = "eu-west-1"}`, "default")
	if !slices.Equal(two, direct) {
		t.Errorf("%q and %q are the same object", two, direct)
	}
	prefixed := identity(t, "remote", `{hostname = "h", organization = "o", workspaces = {prefix = "net-"}}`, "eu")
	named := identity(t, "remote", `{hostname = "h", organization = "o", workspaces = {name = "net-eu"}}`, "default")
	tagged := identity(t, "cloud", `{hostname = "h", organization = "o", workspaces = {tags = ["a"]}}`, "net-eu")
	if !slices.Equal(prefixed, named) || !slices.Equal(prefixed, tagged) {
		t.Errorf("%q, %q and %q are the same workspace", prefixed, named, tagged)
	}
	file := identity(t, "local", `{path = "a.tfstate"}`, "default")
	want, err := filepath.Abs("dir/a.tfstate")
	if err != nil || file[1] != want {
		t.Errorf("the path is %q, not %q", file[1], want)
	}
}
