package notes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/terraform-plugin-mux/tf5to6server"

	"tofu/testing/providers/prototest"
)

// blocksLeftOut sets the blocks to the values that they have if the configuration omits them. In
// the SDK, omitted blocks are empty and not null.
const blocksLeftOut = `"section": [], "link": [], "reminder": [], "timeouts": null`

func start(t *testing.T) (*prototest.Client, string) {
	t.Helper()
	server, err := tf5to6server.UpgradeServer(t.Context(), New().GRPCProvider)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "notes")
	return prototest.New(t, server, `{"folder": "`+folder+`", "author": "ann", "defaults": [{"tags": ["all"]}]}`),
		folder
}

func want(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func TestSchema(t *testing.T) {
	if err := New().InternalValidate(); err != nil {
		t.Error(err)
	}
}

func TestNoteLife(t *testing.T) {
	c, folder := start(t)
	o, err := c.Apply(t.Context(), "notes_note", nil,
		`{"key": "n", "body": "b", "priority": 1, "tags": ["x"], "timeouts": null, "reminder": [],
		"section": [{"heading": "h", "text": null, "done": null, "number": null}], "link": [{"url": "u", "rel": null}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "computed", o.Text("author")+" "+o.Text("revision")+" "+o.Text("pinned")+" "+o.Text("all_tags"),
		"ann 1 true [all x]")
	want(t, "section", o.Text("section"), "[{done=false heading=h number=1 text=}]")
	want(t, "link", o.Text("link"), "[{rel=related url=u}]")

	n, err := store{folder}.read("n")
	if err != nil {
		t.Fatal(err)
	}
	n.Title = "by hand"
	if err := (store{folder}).write("n", n); err != nil {
		t.Fatal(err)
	}
	o, err = c.Read(t.Context(), "notes_note", o)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "drift", o.Text("title"), "by hand")

	o, err = c.Apply(t.Context(), "notes_note", o, `{"key": "n", "body": "c", `+blocksLeftOut+`}`)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "updated", o.Text("title")+" "+o.Text("revision"), "untitled 2")
	if _, err := c.Apply(t.Context(), "notes_note", o, `{"key": "m", `+blocksLeftOut+`}`); err == nil ||
		!strings.Contains(err.Error(), "must be replaced") {
		t.Errorf("another key: got %v", err)
	}
	if err := c.Destroy(t.Context(), "notes_note", o); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(folder); !os.IsNotExist(err) {
		t.Errorf("the folder is left: %v", err)
	}
}

func TestImportAndUpgrade(t *testing.T) {
	c, folder := start(t)
	if err := (store{folder}).create("n", note{Title: "t", Priority: 2}); err != nil {
		t.Fatal(err)
	}
	o, err := c.Import(t.Context(), "notes_note", "n")
	if err != nil {
		t.Fatal(err)
	}
	want(t, "imported", o.Text("key")+" "+o.Text("title")+" "+o.Text("priority"), "n t 2")

	o, err = c.Upgrade(t.Context(), "notes_note", 0,
		`{"id": "n", "key": "n", "title": "t", "text": "old", "priority": "low"}`)
	if err != nil {
		t.Fatal(err)
	}
	want(t, "upgraded", o.Text("body")+" "+o.Text("priority"), "old 5")
}

func TestNoteErrors(t *testing.T) {
	t.Setenv("NOTES_FAIL", "create-done:late")
	c, _ := start(t)
	for config, message := range map[string]string{
		`{"key": "../x", ` + blocksLeftOut + `}`:             "is not a key",
		`{"key": "x", "priority": 9, ` + blocksLeftOut + `}`: "expected priority to be in the range",
	} {
		if _, err := c.Apply(t.Context(), "notes_note", nil, config); err == nil ||
			!strings.Contains(err.Error(), message) {
			t.Errorf("%s: got error %v, want %q", config, err, message)
		}
	}
	if o, err := c.Apply(t.Context(), "notes_note", nil, `{"key": "late", `+blocksLeftOut+`}`); err == nil ||
		o.Text("id") != "late" {
		t.Errorf("late: got %s, %v", o.Text("id"), err)
	}
}

func TestTagged(t *testing.T) {
	s := store{filepath.Join(t.TempDir(), "notes")}
	for key, tags := range map[string][]string{"a": {"x", "y"}, "b": {"y"}, "c": nil} {
		if err := s.create(key, note{Tags: tags}); err != nil {
			t.Fatal(err)
		}
	}
	for tag, keys := range map[string]string{"": "a b c", "y": "a b", "x": "a", "z": ""} {
		got, err := s.tagged(tag)
		if err != nil {
			t.Fatal(err)
		}
		want(t, "tag "+tag, strings.Join(got, " "), keys)
	}
}
