package provisioner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/configschema"
	"tofu/internal/tfdiags"
)

// contentName is the name of the file with the value of the argument content if the destination is
// a directory.
const contentName = "tf-file-content"

var fileSchema = &configschema.Block{Attributes: map[string]*configschema.Attribute{
	"source":      optional(cty.String),
	"content":     optional(cty.String),
	"destination": required(cty.String),
}}

func validateFile(config cty.Value) error {
	const summary = "Invalid file provisioner configuration"
	var errs tfdiags.Diagnostics
	source, content, dst := attribute(config, "source"), attribute(config, "content"), attribute(config, "destination")
	switch {
	case !source.IsNull() && !content.IsNull():
		errs.Add(tfdiags.Errorf(summary, "Cannot set both \"source\" and \"content\"."))
	case source.IsNull() && content.IsNull():
		errs.Add(tfdiags.Errorf(summary, "One of \"source\" and \"content\" must be set."))
	}
	if dst.IsKnown() && (dst.IsNull() || dst.AsString() == "") {
		errs.Add(tfdiags.Errorf(summary, "The destination must be a non-empty string."))
	}
	return errs.Err()
}

func runFile(ctx context.Context, r *request) error {
	dst := text(r.config, "destination")
	if dst == "" {
		return errors.New("the destination must be a non-empty string")
	}
	if content := attribute(r.config, "content"); !content.IsNull() {
		return withTarget(ctx, r, func(t target) error {
			text := content.AsString()
			return t.upload(ctx, dst, contentName, int64(len(text)), strings.NewReader(text))
		})
	}
	src := text(r.config, "source")
	if src == "" {
		return errors.New("\"source\" must be a non-empty string if \"content\" is not set")
	}
	src = r.path(src)
	info, err := os.Stat(src)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return withTarget(ctx, r, func(t target) error { return t.uploadDir(ctx, dst, src) })
	}
	return withTarget(ctx, r, func(t target) error { return uploadFile(ctx, t, dst, src) })
}

func withTarget(ctx context.Context, r *request, use func(target) error) error {
	t, err := open(ctx, r)
	if err != nil {
		return err
	}
	defer t.close()
	if err := use(t); err != nil {
		return fmt.Errorf("uploading to %s: %w", text(r.config, "destination"), err)
	}
	return nil
}

func uploadFile(ctx context.Context, t target, dst, src string) error {
	f, err := os.Open(src)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	return t.upload(ctx, dst, filepath.Base(src), info.Size(), f)
}
