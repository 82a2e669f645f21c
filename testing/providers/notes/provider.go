package notes

import (
	"context"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"

	"tofu/testing/providers/faults"
)

// env is the data that the provider's resources share.
type env struct {
	store  store
	author string
	tags   []string
	faults *faults.Plan
}

// around runs an operation and injects the faults.
func (e *env) around(ctx context.Context, op, name string, do func() error) diag.Diagnostics {
	if err := e.faults.Around(ctx, op, name, do); err != nil {
		return diag.Diagnostics{{Severity: diag.Error, Summary: "Cannot " + op + " " + name, Detail: err.Error()}}
	}
	return nil
}

// New returns the provider.
func New() *schema.Provider {
	return &schema.Provider{
		Schema: map[string]*schema.Schema{
			"folder": {
				Type: schema.TypeString, Optional: true,
				DefaultFunc: schema.EnvDefaultFunc("NOTES_FOLDER", "notes"),
				Description: "The folder of the notes. It is created with the first note.",
			},
			"author": {
				Type: schema.TypeString, Optional: true, Default: "nobody",
				Description: "The author of the notes.",
			},
			"defaults": {
				Type: schema.TypeList, Optional: true, MaxItems: 1,
				Description: "Default values for new notes.",
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"tags": {Type: schema.TypeList, Optional: true, Elem: &schema.Schema{Type: schema.TypeString},
						Description: "Tags of every note in addition to its own. They are included in all_tags."},
				}},
			},
		},
		ResourcesMap: map[string]*schema.Resource{
			"notes_note": noteResource(),
		},
		DataSourcesMap: map[string]*schema.Resource{
			"notes_note":   noteData(),
			"notes_search": searchData(),
		},
		ConfigureContextFunc: configure,
	}
}

func configure(ctx context.Context, d *schema.ResourceData) (any, diag.Diagnostics) {
	plan, err := faults.FromEnv("NOTES")
	if err != nil {
		return nil, diag.FromErr(err)
	}
	e := &env{
		store:  store{folder: d.Get("folder").(string)},
		author: d.Get("author").(string),
		faults: plan,
	}
	if tags, ok := d.GetOk("defaults.0.tags"); ok {
		e.tags = texts(tags.([]any))
	}
	return e, e.around(ctx, "configure", e.store.folder, func() error { return nil })
}

// texts converts a list from the SDK's representation to strings.
func texts(list []any) []string {
	out := make([]string, 0, len(list))
	for _, v := range list {
		s, _ := v.(string) // the SDK may represent an empty string as nil
		out = append(out, s)
	}
	return out
}
