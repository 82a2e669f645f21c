package command

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"github.com/hashicorp/hcl/v2/hclwrite"

	"tofu/internal/atomicfile"
	"tofu/internal/plans"
	"tofu/internal/tfdiags"
)

// generateTarget checks the -generate-config-out file.
func generateTarget(path string, mode plans.Mode) error {
	if path == "" {
		return nil
	}
	if mode != plans.Normal {
		return tfdiags.Errorf("Invalid generate-config-out flag",
			"Objects are imported by ordinary plans only, so no configuration can be generated with -destroy "+
				"or -refresh-only.")
	}
	_, err := os.Lstat(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("checking the file of -generate-config-out: %w", err)
	}
	if err == nil {
		return tfdiags.Errorf("Target generated file already exists",
			"Configuration can only be generated into a new file, and %s exists.", path)
	}
	return nil
}

// writeGenerated writes the configuration that a plan generated.
func writeGenerated(path string, plan *plans.Plan, warn tfdiags.Sink) error {
	if len(plan.GeneratedConfig) == 0 {
		return nil
	}
	var text bytes.Buffer
	text.WriteString("# __generated__ by OpenTofu\n# Please review these resources and move them into your " +
		"main configuration files.\n")
	for _, addr := range slices.Sorted(maps.Keys(plan.GeneratedConfig)) {
		fmt.Fprintf(&text, "\n%s\n", bytes.TrimSpace([]byte(plan.GeneratedConfig[addr])))
	}
	if err := atomicfile.WriteNamed(path, hclwrite.Format(text.Bytes()), 0o644); err != nil {
		return fmt.Errorf("writing the generated configuration: %w", err)
	}
	warn(tfdiags.Warningf("Config generation is experimental",
		"The generated configuration may look different in later versions. Check it before you use it."))
	return nil
}
