package acceptance

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/hashicorp/terraform-plugin-framework/providerserver"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-mux/tf5muxserver"
	"github.com/hashicorp/terraform-plugin-mux/tf5to6server"
	"github.com/hashicorp/terraform-plugin-mux/tf6muxserver"
	"github.com/hashicorp/terraform-plugin-testing/helper/resource"
	"github.com/hashicorp/terraform-plugin-testing/knownvalue"
	"github.com/hashicorp/terraform-plugin-testing/plancheck"
	"github.com/hashicorp/terraform-plugin-testing/querycheck"
	"github.com/hashicorp/terraform-plugin-testing/querycheck/queryfilter"
	"github.com/hashicorp/terraform-plugin-testing/statecheck"
	"github.com/hashicorp/terraform-plugin-testing/tfjsonpath"
	"github.com/hashicorp/terraform-plugin-testing/tfversion"

	"tofu/testing/providers/files"
	"tofu/testing/providers/notes"
)

// TestMain sets the environment variables of terraform-plugin-testing. It also builds the program,
// unless TF_ACC_TERRAFORM_PATH contains the path of one.
func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "acceptance")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if os.Getenv("TF_ACC_TERRAFORM_PATH") == "" {
		bin := filepath.Join(dir, "tofu.exe") // Windows requires the file name extension
		build := exec.Command("go", "build", "-C", "../../..", "-tags", "grpcnotrace", "-o", bin, "./cmd/tofu")
		if out, err := build.CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, out)
			return 1
		}
		os.Setenv("TF_ACC_TERRAFORM_PATH", bin)
	}
	os.Setenv("TF_ACC", "1")
	os.Setenv("TF_ACC_PROVIDER_NAMESPACE", "hashicorp")
	os.Setenv("TF_ACC_PROVIDER_HOST", "registry.opentofu.org")
	os.Setenv("TF_CLI_CONFIG_FILE", os.DevNull)
	return m.Run()
}

func framework() (tfprotov6.ProviderServer, error) {
	return providerserver.NewProtocol6(files.New(files.Options{Version: "1.0.0"}))(), nil
}

func sdk() (tfprotov5.ProviderServer, error) { return notes.New().GRPCProvider(), nil }

// muxFramework returns the provider of package files behind a mux server. muxSDK returns that of
// package notes, also behind a mux server, converted to protocol 6.
func muxFramework() (tfprotov6.ProviderServer, error) {
	server, err := tf6muxserver.NewMuxServer(context.Background(),
		providerserver.NewProtocol6(files.New(files.Options{Version: "1.0.0"})))
	if err != nil {
		return nil, err
	}
	return server.ProviderServer(), nil
}

func muxSDK() (tfprotov6.ProviderServer, error) {
	server, err := tf5muxserver.NewMuxServer(context.Background(), notes.New().GRPCProvider)
	if err != nil {
		return nil, err
	}
	return tf5to6server.UpgradeServer(context.Background(), server.ProviderServer)
}

var v6 = map[string]func() (tfprotov6.ProviderServer, error){"files": framework}

var v5 = map[string]func() (tfprotov5.ProviderServer, error){"notes": sdk}

func file(root, arguments string) string {
	return fmt.Sprintf(`
provider "files" {
  root = %q
}
resource "files_file" "a" {
  path = "a.txt"
  %s
}
`, root, arguments)
}

// TestFramework checks that changes can be planned, saved and applied without a refresh, and that
// the next plan contains no changes.
func TestFramework(t *testing.T) {
	root := t.TempDir()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: v6,
		Steps: []resource.TestStep{{
			Config: file(root, `content = "one"`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("files_file.a", plancheck.ResourceActionCreate),
				plancheck.ExpectUnknownValue("files_file.a", tfjsonpath.New("id")),
			}},
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue("files_file.a", tfjsonpath.New("size"), knownvalue.Int64Exact(3)),
			},
			Check: resource.TestCheckResourceAttr("files_file.a", "content", "one"),
		}, {
			Config: file(root, `content = "three"`),
			ConfigPlanChecks: resource.ConfigPlanChecks{
				PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction("files_file.a",
					plancheck.ResourceActionUpdate)},
				PostApplyPostRefresh: []plancheck.PlanCheck{plancheck.ExpectEmptyPlan()},
			},
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectIdentityValue("files_file.a", tfjsonpath.New("path"), knownvalue.StringExact("a.txt")),
			},
		}, {
			PreConfig: func() { _ = os.Remove(filepath.Join(root, "a.txt")) },
			Config:    file(root, `content = "three"`),
			ConfigPlanChecks: resource.ConfigPlanChecks{
				PreApply: []plancheck.PlanCheck{plancheck.ExpectResourceAction("files_file.a",
					plancheck.ResourceActionCreate)},
			},
		}, {
			Config: file(root, `content = "three"`) + `removed {
  from = files_file.b
}`,
			PlanOnly: true,
		}},
	})
}

// TestImport checks that imported objects equal those that earlier steps created, and that imports
// with import blocks can be planned.
func TestImport(t *testing.T) {
	root := t.TempDir()
	config := file(root, `content = "one"`)
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: v6,
		Steps: []resource.TestStep{
			{Config: config},
			{Config: config, ResourceName: "files_file.a", ImportState: true, ImportStateId: "a.txt",
				ImportStateVerify: true, ImportStateVerifyIgnore: []string{"overwrite"}},
			{Config: config, ResourceName: "files_file.a", ImportState: true,
				ImportStateKind: resource.ImportBlockWithID, ImportStateId: "a.txt"},
			{Config: config, ResourceName: "files_file.a", ImportState: true,
				ImportStateKind: resource.ImportBlockWithResourceIdentity},
		},
	})
}

// TestImportIntoEmptyBlock checks that the import command accepts a block that lacks required
// arguments.
func TestImportIntoEmptyBlock(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.txt"), []byte("there"), 0o644); err != nil {
		t.Fatal(err)
	}
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: v6,
		Steps: []resource.TestStep{{
			Config: fmt.Sprintf("provider \"files\" {\n  root = %q\n}\nresource \"files_file\" \"a\" {}\n",
				root),
			ResourceName:       "files_file.a",
			ImportState:        true,
			ImportStateId:      "a.txt",
			ImportStatePersist: true,
		}, {
			Config: file(root, `content = "there"`),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("files_file.a", plancheck.ResourceActionNoop)}},
		}},
	})
}

// TestFunctions checks that a configuration can use a provider only for its function: in an
// argument, an output and a condition.
func TestFunctions(t *testing.T) {
	const sum = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: v6,
		Steps: []resource.TestStep{{
			Config: `
resource "terraform_data" "a" {
  input = provider::files::sha256_of("x")
}
output "sum" {
  value = provider::files::sha256_of("x")
}
output "path" {
  value = provider::files::join_path("a", terraform_data.a.output)
}
`,
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownOutputValue("sum", knownvalue.StringExact(sum)),
				statecheck.ExpectKnownOutputValue("path", knownvalue.StringExact("a/"+sum)),
				statecheck.ExpectKnownValue("terraform_data.a", tfjsonpath.New("output"), knownvalue.StringExact(sum)),
			},
		}},
	})
}

// TestFunctionError checks that the error for a failed provider function contains the function's
// message.
func TestFunctionError(t *testing.T) {
	resource.UnitTest(t, resource.TestCase{
		ProtoV6ProviderFactories: v6,
		Steps: []resource.TestStep{{
			Config:      `output "path" { value = provider::files::join_path("..") }`,
			ExpectError: regexp.MustCompile(`the path "\.\." leads out`),
		}},
	})
}

// TestEphemeral checks that the value of an ephemeral resource can be passed to a write-only
// argument, and that the value is not stored.
func TestEphemeral(t *testing.T) {
	root := t.TempDir()
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: v6,
		Steps: []resource.TestStep{{
			Config: `
ephemeral "files_secret" "s" {
  path  = "secret"
  value = "hidden"
}
` + file(root, `
  content_wo         = ephemeral.files_secret.s.value
  content_wo_version = 1
`),
			ConfigStateChecks: []statecheck.StateCheck{
				statecheck.ExpectKnownValue("files_file.a", tfjsonpath.New("content_wo"), knownvalue.Null()),
			},
		}},
	})
}

// TestSDK checks a provider that is written with terraform-plugin-sdk.
func TestSDK(t *testing.T) {
	folder := t.TempDir()
	config := func(body string) string {
		return fmt.Sprintf(`
provider "notes" {
  folder = %q
}
resource "notes_note" "a" {
  key = "a"
  %s
}
`, folder, body)
	}
	resource.Test(t, resource.TestCase{
		ProtoV5ProviderFactories: v5,
		Steps: []resource.TestStep{{
			Config: config("tags = [\"x\"]\n section {\n heading = \"one\"\n }"),
			Check: resource.ComposeAggregateTestCheckFunc(
				resource.TestCheckResourceAttr("notes_note.a", "section.0.number", "1"),
				resource.TestCheckTypeSetElemAttr("notes_note.a", "tags.*", "x"),
			),
		}, {
			Config: config("title = \"new\""),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectResourceAction("notes_note.a", plancheck.ResourceActionUpdate)}},
		}, {
			ResourceName: "notes_note.a", ImportState: true, ImportStateId: "a", ImportStateVerify: true,
		}, {
			RefreshState: true,
		}},
	})
	resource.Test(t, resource.TestCase{
		ProtoV5ProviderFactories: v5,
		Steps: []resource.TestStep{{
			Config:      config("priority = 9"),
			ExpectError: regexp.MustCompile(`priority to be in the range`),
		}},
	})
}

// TestMux checks providers that are served by terraform-plugin-mux.
func TestMux(t *testing.T) {
	resource.Test(t, resource.TestCase{
		ProtoV6ProviderFactories: map[string]func() (tfprotov6.ProviderServer, error){"files": muxFramework,
			"notes": muxSDK},
		Steps: []resource.TestStep{{
			Config: file(t.TempDir(), `content = notes_note.a.id`) + fmt.Sprintf(`
provider "notes" {
  folder = %q
}
resource "notes_note" "a" {
  key   = "a"
  title = provider::files::sha256_of("x")
}
`, t.TempDir()),
			ConfigPlanChecks: resource.ConfigPlanChecks{PreApply: []plancheck.PlanCheck{
				plancheck.ExpectUnknownValue("files_file.a", tfjsonpath.New("content")),
			}},
			Check: resource.TestCheckResourceAttrPair("files_file.a", "content", "notes_note.a", "id"),
		}},
	})
}

// TestQuery lists objects and checks their identities and values. The library does this only with
// programs that call themselves Terraform 1.14 or newer.
func TestQuery(t *testing.T) {
	t.Setenv("TOFU_ANSWER_VERSION", "terraform 1.14.0")
	root := t.TempDir()
	resource.Test(t, resource.TestCase{
		TerraformVersionChecks:   []tfversion.TerraformVersionCheck{tfversion.SkipBelow(tfversion.Version1_14_0)},
		ProtoV6ProviderFactories: v6,
		Steps: []resource.TestStep{{
			Config: file(root, `content = "one"`),
		}, {
			Query: true,
			Config: `
list "files_file" "all" {
  provider         = files
  include_resource = true
  config {
    pattern = "*.txt"
  }
}
`,
			QueryResultChecks: []querycheck.QueryResultCheck{
				querycheck.ExpectLength("files_file.all", 1),
				querycheck.ExpectIdentity("files_file.all", map[string]knownvalue.Check{"path": knownvalue.StringExact("a.txt")}),
				querycheck.ExpectResourceKnownValues("files_file.all",
					queryfilter.ByDisplayName(knownvalue.StringExact("a.txt")),
					[]querycheck.KnownValueCheck{{Path: tfjsonpath.New("content"), KnownValue: knownvalue.StringExact("one")}}),
			},
		}},
	})
}
