package plugin

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/backend"
	"tofu/internal/backend/provided"
	"tofu/internal/providers"
	"tofu/internal/testenv/storetest"
	"tofu/internal/tfdiags"
)

// TestList lists files with both protocol versions.
func TestList(t *testing.T) {
	for _, name := range []string{"files", "files5"} {
		t.Run(name, func(t *testing.T) {
			p, dir := configured(t, name)
			for _, file := range []string{"a.txt", "b.md", "c.txt"} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(file), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			schema, _ := p.Schema(t.Context())
			block := schema.Lists.Type("files_file").Block
			request := func(config map[string]cty.Value, whole bool, limit int64) providers.ListRequest {
				return providers.ListRequest{Type: "files_file", Config: object(t, block, config),
					IncludeObject: cty.BoolVal(whole), Limit: cty.NumberIntVal(limit)}
			}
			for _, test := range []struct {
				req  providers.ListRequest
				stop int // the number of objects after which the caller ends the call
				want string
			}{
				{request(nil, false, 100), 0, "a.txt b.md c.txt"},
				{request(map[string]cty.Value{"pattern": cty.StringVal("*.txt")}, true, 100), 0, "a.txt=a.txt c.txt=c.txt"},
				{request(nil, false, 2), 0, "a.txt b.md"},
				{request(nil, false, 100), 1, "a.txt"},
				{request(map[string]cty.Value{"folder": cty.StringVal("no")}, false, 100), 0,
					"Cannot list no: there is no folder no"},
			} {
				if diags := p.ValidateList(t.Context(), test.req); diags.HasErrors() {
					t.Fatal(diags.Err())
				}
				var got []string
				diags := p.List(t.Context(), test.req, func(o providers.ListedObject) bool {
					text := ""
					if o.Diagnostics.HasErrors() {
						text = o.Diagnostics[0].Summary + ": " + o.Diagnostics[0].Detail
					} else {
						text = o.Identity.GetAttr("path").AsString()
					}
					if !o.Object.IsNull() {
						text += "=" + o.Object.GetAttr("content").AsString()
					}
					got = append(got, text)
					return len(got) != test.stop
				})
				if diags.HasErrors() {
					t.Error(diags.Err())
				}
				if strings.Join(got, " ") != test.want {
					t.Errorf("got %q, want %q", got, test.want)
				}
			}
			bad := request(map[string]cty.Value{"pattern": cty.StringVal("[")}, false, 1)
			if !p.ValidateList(t.Context(), bad).HasErrors() {
				t.Error("an invalid pattern was accepted")
			}
		})
	}
}

// TestInvoke carries out actions, one of which has no known end.
func TestInvoke(t *testing.T) {
	p, dir := configured(t, "files", "FILES_FAIL=invoke:no", "FILES_CRASH=invoke-done:crash")
	schema, _ := p.Schema(t.Context())
	block := schema.Actions.Type("files_append").Block
	config := func(path string) cty.Value {
		return object(t, block, map[string]cty.Value{"path": cty.StringVal(path), "text": cty.StringVal("hello"),
			"times": cty.NumberIntVal(2)})
	}
	var progress []string
	note := func(text string) { progress = append(progress, text) }
	if diags := p.ValidateAction(t.Context(), "files_append", config("a")); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if resp := p.PlanAction(t.Context(), "files_append", config("a")); resp.Diagnostics.HasErrors() || resp.Deferred != "" {
		t.Fatal(resp)
	}
	resp := p.InvokeAction(t.Context(), "files_append", config("a"), note)
	if resp.Diagnostics.HasErrors() || resp.Unanswered {
		t.Fatal(resp)
	}
	if want := []string{"line 1 of 2", "line 2 of 2"}; !slices.Equal(progress, want) {
		t.Errorf("got the progress %q, want %q", progress, want)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "a")); string(got) != "hello\nhello\n" {
		t.Errorf("got the file %q", got)
	}
	if resp := p.InvokeAction(t.Context(), "files_append", config("no"), note); !resp.Diagnostics.HasErrors() ||
		resp.Unanswered {
		t.Errorf("a failed action: %v", resp)
	}
	if resp := p.InvokeAction(t.Context(), "files_append", config("crash"), note); !resp.Diagnostics.HasErrors() ||
		!resp.Unanswered {
		t.Errorf("an action without an answer: %v", resp)
	}
}

// TestStateStore writes and reads states of several sizes, which are sent in chunks of 8 MB.
func TestStateStore(t *testing.T) {
	p, _ := configured(t, "files")
	const typ = "files_store"
	schema, _ := p.Schema(t.Context())
	config := object(t, schema.StateStores.Type(typ).Block,
		map[string]cty.Value{"folder": cty.StringVal("states")})
	if diags := p.WriteState(t.Context(), typ, "early", nil); !diags.HasErrors() {
		t.Error("a state was written before the store was configured")
	}
	if diags := p.ValidateStore(t.Context(), typ, config).Append(p.ConfigureStore(t.Context(), typ,
		config)...); diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	sizes := []int{1, suggestedChunk - 1, suggestedChunk, suggestedChunk + 1, 2 * suggestedChunk}
	for _, size := range sizes {
		id := fmt.Sprint(size)
		state := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		if diags := p.WriteState(t.Context(), typ, id, state); diags.HasErrors() {
			t.Fatal(diags.Err())
		}
		got, diags := p.ReadState(t.Context(), typ, id)
		if diags.HasErrors() || !bytes.Equal(got, state) {
			t.Errorf("a state of %d bytes: read %d bytes, %v", size, len(got), diags.Err())
		}
	}
	if got, diags := p.ReadState(t.Context(), typ, "missing"); len(got) > 0 || diags.HasErrors() {
		t.Errorf("a missing state: %q, %v", got, diags.Err())
	}
	if diags := p.DeleteState(t.Context(), typ, "1"); diags.HasErrors() {
		t.Error(diags.Err())
	}
	if ids, diags := p.ListStates(t.Context(), typ); len(ids) != len(sizes)-1 || diags.HasErrors() {
		t.Errorf("listed %v, %v", ids, diags.Err())
	}
	lock, diags := p.LockState(t.Context(), typ, "a", "plan")
	if lock == "" || diags.HasErrors() {
		t.Fatal(lock, diags.Err())
	}
	if _, diags := p.LockState(t.Context(), typ, "a", "plan"); !strings.Contains(fmt.Sprint(diags.Err()), lock) {
		t.Errorf("locked twice: %v", diags.Err())
	}
	if !p.UnlockState(t.Context(), typ, "a", "other").HasErrors() {
		t.Error("unlocked with another ID")
	}
	if diags := p.UnlockState(t.Context(), typ, "a", lock); diags.HasErrors() {
		t.Error(diags.Err())
	}
}

// TestGenerateConfig has the provider make the configuration of an object, which has no computed
// values.
func TestGenerateConfig(t *testing.T) {
	p, _ := configured(t, "files")
	schema, _ := p.Schema(t.Context())
	if !schema.GenerateConfig {
		t.Skip("the provider doesn't generate configuration")
	}
	state := object(t, schema.Resources.Type("files_file").Block, map[string]cty.Value{"path": cty.StringVal("a"), "id": cty.StringVal("a"),
		"content": cty.StringVal("text")})
	config, diags := p.GenerateConfig(t.Context(), "files_file", state)
	if diags.HasErrors() {
		t.Fatal(diags.Err())
	}
	if got := config.GetAttr("content"); got.AsString() != "text" {
		t.Errorf("content = %#v", got)
	}
	if got := config.GetAttr("id"); !got.IsNull() {
		t.Errorf("id = %#v, want null", got)
	}
}

// TestProvidedStore runs the suite of backends with two processes of a provider.
func TestProvidedStore(t *testing.T) {
	const typ = "files_store"
	storetest.Run(t, func(t *testing.T) (a, b backend.Store) {
		root := t.TempDir()
		open := func() backend.Store {
			p, _ := configured(t, "files", "FILES_ROOT="+root)
			schema, _ := p.Schema(t.Context())
			noErrors(t, p.ConfigureStore(t.Context(), typ, object(t, schema.StateStores.Type(typ).Block,
				map[string]cty.Value{"folder": cty.StringVal("states")})))
			return provided.New(p, typ, tfdiags.Drop)
		}
		return open(), open()
	})
}
