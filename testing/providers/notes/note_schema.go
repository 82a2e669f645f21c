package notes

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-cty/cty"
	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/validation"
)

// noteResource returns the resource type notes_note.
func noteResource() *schema.Resource {
	return &schema.Resource{
		Description:   "A note.",
		SchemaVersion: 1,
		Schema:        noteSchema(),
		CreateContext: createNote,
		ReadContext:   readNote,
		UpdateContext: updateNote,
		DeleteContext: deleteNote,
		CustomizeDiff: diffNote,
		Importer:      &schema.ResourceImporter{StateContext: importNote},
		Timeouts: &schema.ResourceTimeout{
			Create: schema.DefaultTimeout(time.Minute),
			Update: schema.DefaultTimeout(time.Minute),
			Delete: schema.DefaultTimeout(time.Minute),
		},
		StateUpgraders: []schema.StateUpgrader{{
			Version: 0,
			Type: cty.Object(map[string]cty.Type{"id": cty.String, "key": cty.String, "title": cty.String,
				"text": cty.String, "priority": cty.String}),
			Upgrade: upgradeNote0,
		}},
	}
}

func noteSchema() map[string]*schema.Schema {
	text := &schema.Schema{Type: schema.TypeString}
	return map[string]*schema.Schema{
		"key": {
			Type: schema.TypeString, Required: true, ForceNew: true, ValidateDiagFunc: checkKey,
			Description: "The name of the note. Changing it replaces the note.",
		},
		"title": {Type: schema.TypeString, Optional: true, Default: "untitled", Description: "The title of the note."},
		"body": {
			Type: schema.TypeString, Optional: true, Description: "The text. Trailing empty lines are ignored.",
			DiffSuppressFunc: func(_, old, new string, _ *schema.ResourceData) bool {
				return strings.TrimRight(old, "\n") == strings.TrimRight(new, "\n")
			},
		},
		"secret": {Type: schema.TypeString, Optional: true, Sensitive: true,
			Description: "A sensitive text."},
		"priority": {Type: schema.TypeInt, Optional: true, Default: 3,
			ValidateDiagFunc: validation.ToDiagFunc(validation.IntBetween(1, 5)), Description: "From 1 to 5."},
		"pinned": {Type: schema.TypeBool, Optional: true, Computed: true,
			Description: "Whether the note is pinned. The default is true for priority 1."},
		"tags":   {Type: schema.TypeSet, Optional: true, Elem: text, Description: "Tags of the note."},
		"labels": {Type: schema.TypeMap, Optional: true, Elem: text, Description: "Additional values by name."},
		"section": {
			Type: schema.TypeList, Optional: true, Description: "The parts of the note, in order.",
			Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"heading": {Type: schema.TypeString, Required: true, Description: "The heading."},
				"text":    {Type: schema.TypeString, Optional: true, Description: "The text below it."},
				"done": {Type: schema.TypeBool, Optional: true, Default: false,
					Description: "Whether it is done."},
				"number": {Type: schema.TypeInt, Computed: true, Description: "The number of the section, from 1."},
			}},
		},
		"link": {
			Type: schema.TypeSet, Optional: true, Description: "Links of the note, unordered.",
			Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"url": {Type: schema.TypeString, Required: true, Description: "The address."},
				"rel": {Type: schema.TypeString, Optional: true, Default: "related",
					Description: "The relation to the note."},
			}},
		},
		"reminder": {
			Type: schema.TypeList, Optional: true, MaxItems: 1, Description: "A reminder of the note.",
			Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"at":    {Type: schema.TypeString, Required: true, Description: "The day."},
				"every": {Type: schema.TypeString, Optional: true, Description: "The interval of repetitions."},
			}},
		},
		"attachment": {
			Type: schema.TypeList, Optional: true, Computed: true, ConfigMode: schema.SchemaConfigModeAttr,
			Description: "Attached files: an attribute that may be written as blocks.",
			Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"name": {Type: schema.TypeString, Required: true, Description: "The name."},
				"size": {Type: schema.TypeInt, Optional: true, Description: "The length in bytes."},
			}},
		},
		"author": {Type: schema.TypeString, Computed: true, Description: "The author of the first version."},
		"revision": {Type: schema.TypeInt, Computed: true,
			Description: "The number of times that the note was written."},
		"file": {Type: schema.TypeString, Computed: true, Description: "The file of the note."},
		"all_tags": {Type: schema.TypeList, Computed: true, Elem: text,
			Description: "The tags of the note and those of the provider's defaults, sorted."},
	}
}

func checkKey(v any, p cty.Path) diag.Diagnostics {
	if !keyPattern.MatchString(v.(string)) {
		return diag.Diagnostics{{
			Severity: diag.Error, Summary: "Invalid key", AttributePath: p,
			Detail: strconv.Quote(v.(string)) + " is not a key; write letters, digits, dots, dashes and underscores.",
		}}
	}
	return nil
}

// diffNote plans a new revision if the content of a note changes.
func diffNote(ctx context.Context, d *schema.ResourceDiff, meta any) error {
	if e, ok := meta.(*env); ok {
		nothing := func() error { return nil }
		if err := e.faults.Around(ctx, "plan", d.Get("key").(string), nothing); err != nil {
			return err
		}
	}
	if d.Id() == "" {
		return nil
	}
	for _, name := range []string{"title", "body", "secret", "priority", "pinned", "tags", "labels", "section",
		"link", "reminder", "attachment"} {
		if d.HasChange(name) {
			return d.SetNewComputed("revision")
		}
	}
	return nil
}

// upgradeNote0 upgrades the state from schema version 0, in which the body was called text and the
// priority was a word.
func upgradeNote0(_ context.Context, state map[string]any, _ any) (map[string]any, error) {
	if text, ok := state["text"]; ok {
		state["body"] = text
		delete(state, "text")
	}
	words := map[string]int{"high": 1, "normal": 3, "low": 5}
	if word, ok := state["priority"].(string); ok {
		n, known := words[word]
		if !known {
			n = words["normal"]
		}
		state["priority"] = n
	}
	return state, nil
}
