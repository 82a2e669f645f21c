package notes

import (
	"context"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// noteData returns the data source notes_note.
func noteData() *schema.Resource {
	return &schema.Resource{
		Description: "An existing note.",
		Schema: map[string]*schema.Schema{
			"key": {Type: schema.TypeString, Required: true, ValidateDiagFunc: checkKey,
				Description: "The name of the note."},
			"title":    {Type: schema.TypeString, Computed: true, Description: "The title of the note."},
			"body":     {Type: schema.TypeString, Computed: true, Description: "The text."},
			"priority": {Type: schema.TypeInt, Computed: true, Description: "From 1 to 5."},
			"tags": {Type: schema.TypeSet, Computed: true, Elem: &schema.Schema{Type: schema.TypeString},
				Description: "Tags of the note."},
			"revision": {Type: schema.TypeInt, Computed: true,
				Description: "The number of times that the note was written."},
		},
		ReadContext: func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
			e, key := meta.(*env), d.Get("key").(string)
			return e.around(ctx, "data", key, func() error {
				n, err := e.store.read(key)
				if err != nil {
					return err
				}
				d.SetId(key)
				return setAll(d, map[string]any{"title": n.Title, "body": n.Body, "priority": n.Priority,
					"tags": n.Tags, "revision": n.Revision})
			})
		},
	}
}

// searchData returns the data source notes_search.
func searchData() *schema.Resource {
	return &schema.Resource{
		Description: "The existing notes.",
		Schema: map[string]*schema.Schema{
			"tag": {Type: schema.TypeString, Optional: true, Description: "List only notes with this tag."},
			"keys": {Type: schema.TypeList, Computed: true, Elem: &schema.Schema{Type: schema.TypeString},
				Description: "The names of the notes, sorted."},
		},
		ReadContext: func(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
			e, tag := meta.(*env), d.Get("tag").(string)
			return e.around(ctx, "data", "tag="+tag, func() error {
				keys, err := e.store.tagged(tag)
				if err != nil {
					return err
				}
				d.SetId("tag=" + tag)
				return setAll(d, map[string]any{"keys": keys})
			})
		},
	}
}
