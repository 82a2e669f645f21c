package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sort"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

func createNote(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	e, key := meta.(*env), d.Get("key").(string)
	return e.around(ctx, "create", key, func() error {
		n := fromConfig(d)
		n.Author, n.Revision = e.author, 1
		if err := e.store.create(key, n); err != nil {
			return err
		}
		d.SetId(key) // if there is an error after this, the note is tainted
		return e.toState(d, key, n)
	})
}

func readNote(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	e, key := meta.(*env), d.Id()
	return e.around(ctx, "read", key, func() error {
		n, err := e.store.read(key)
		if errors.Is(err, fs.ErrNotExist) {
			d.SetId("")
			return nil
		}
		if err != nil {
			return err
		}
		return e.toState(d, key, n)
	})
}

func updateNote(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	e, key := meta.(*env), d.Id()
	diags := e.around(ctx, "update", key, func() error {
		old, err := e.store.read(key)
		if err != nil {
			return err
		}
		n := fromConfig(d)
		n.Author, n.Revision = old.Author, old.Revision+1
		if err := e.store.write(key, n); err != nil {
			return err
		}
		return e.toState(d, key, n)
	})
	if diags.HasError() {
		d.Partial(true) // keeps the prior state
	}
	return diags
}

func deleteNote(ctx context.Context, d *schema.ResourceData, meta any) diag.Diagnostics {
	e, key := meta.(*env), d.Id()
	return e.around(ctx, "delete", key, func() error { return e.store.remove(key) })
}

func importNote(_ context.Context, d *schema.ResourceData, _ any) ([]*schema.ResourceData, error) {
	if !keyPattern.MatchString(d.Id()) {
		return nil, fmt.Errorf("%q is not the key of a note", d.Id())
	}
	return []*schema.ResourceData{d}, nil
}

// fromConfig returns the note that the plan describes.
func fromConfig(d *schema.ResourceData) note {
	n := note{
		Title:    d.Get("title").(string),
		Body:     d.Get("body").(string),
		Secret:   d.Get("secret").(string),
		Priority: d.Get("priority").(int),
		Pinned:   d.Get("pinned").(bool),
		Tags:     texts(d.Get("tags").(*schema.Set).List()),
	}
	if d.GetRawConfig().GetAttr("pinned").IsNull() {
		n.Pinned = n.Priority == 1
	}
	sort.Strings(n.Tags)
	for k, v := range d.Get("labels").(map[string]any) {
		if n.Labels == nil {
			n.Labels = map[string]string{}
		}
		n.Labels[k] = v.(string)
	}
	for _, m := range blocks(d.Get("section")) {
		n.Sections = append(n.Sections, section{m["heading"].(string), m["text"].(string), m["done"].(bool)})
	}
	for _, m := range blocks(d.Get("link").(*schema.Set).List()) {
		n.Links = append(n.Links, link{m["url"].(string), m["rel"].(string)})
	}
	for _, m := range blocks(d.Get("reminder")) {
		n.Reminder = &reminder{m["at"].(string), m["every"].(string)}
	}
	for _, m := range blocks(d.Get("attachment")) {
		n.Attachments = append(n.Attachments, attachment{m["name"].(string), m["size"].(int)})
	}
	return n
}

// blocks returns nested blocks as maps. The SDK represents an empty block as nil.
func blocks(v any) (out []map[string]any) {
	for _, b := range v.([]any) {
		if m, ok := b.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// toState sets the attributes in the state to those of a note.
func (e *env) toState(d *schema.ResourceData, key string, n note) error {
	sections := []any{}
	for i, s := range n.Sections {
		sections = append(sections, map[string]any{"heading": s.Heading, "text": s.Text, "done": s.Done,
			"number": i + 1})
	}
	links := []any{}
	for _, l := range n.Links {
		links = append(links, map[string]any{"url": l.URL, "rel": l.Rel})
	}
	reminders := []any{}
	if n.Reminder != nil {
		reminders = append(reminders, map[string]any{"at": n.Reminder.At, "every": n.Reminder.Every})
	}
	attachments := []any{}
	for _, a := range n.Attachments {
		attachments = append(attachments, map[string]any{"name": a.Name, "size": a.Size})
	}
	all := append(append([]string{}, n.Tags...), e.tags...)
	sort.Strings(all)
	return setAll(d, map[string]any{
		"key": key, "title": n.Title, "body": n.Body, "secret": n.Secret, "priority": n.Priority, "pinned": n.Pinned,
		"tags": n.Tags, "labels": n.Labels, "section": sections, "link": links, "reminder": reminders,
		"attachment": attachments, "author": n.Author, "revision": n.Revision, "file": e.store.file(key),
		"all_tags": all,
	})
}

// setAll sets several attributes.
func setAll(d *schema.ResourceData, values map[string]any) error {
	var errs []error
	for name, value := range values {
		errs = append(errs, d.Set(name, value))
	}
	return errors.Join(errs...)
}
