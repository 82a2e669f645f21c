package files

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/schema/validator"
)

// stringCheck is a validator for known strings.
type stringCheck struct {
	about string
	check func(string) diag.Diagnostic
}

func (s stringCheck) Description(context.Context) string         { return s.about }
func (s stringCheck) MarkdownDescription(context.Context) string { return s.about }

func (s stringCheck) ValidateString(_ context.Context, req validator.StringRequest, resp *validator.StringResponse) {
	if req.ConfigValue.IsNull() || req.ConfigValue.IsUnknown() {
		return
	}
	if d := s.check(req.ConfigValue.ValueString()); d != nil {
		resp.Diagnostics.Append(diag.WithPath(req.Path, d))
	}
}

var relativePath = stringCheck{"a path relative to the root folder", func(s string) diag.Diagnostic {
	if err := checkPath(s); err != nil {
		return diag.NewErrorDiagnostic("Invalid path", err.Error())
	}
	return nil
}}

var octalMode = stringCheck{"a file mode of four octal digits", func(s string) diag.Diagnostic {
	mode, err := parseMode(s)
	if err != nil {
		return diag.NewErrorDiagnostic("Invalid mode", err.Error())
	}
	if mode&0o002 != 0 {
		return diag.NewWarningDiagnostic("World-writable mode",
			"With mode "+s+" every user of this machine can change it.")
	}
	return nil
}}
