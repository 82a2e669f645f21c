package command

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

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

// writeGenerated writes the configuration that a plan generated and returns the paths of the files.
// Blocks of a module are written to a file with the same name in the directory of the module.
func writeGenerated(path string, plan *plans.Plan, warn tfdiags.Sink) (written []string, err error) {
	if len(plan.GeneratedConfig) == 0 {
		return nil, nil
	}
	dirs := slices.Sorted(maps.Keys(plan.GeneratedConfig))
	for _, dir := range dirs {
		file := path
		if dir != "" {
			file = filepath.Join(dir, filepath.Base(path))
		}
		if slices.Contains(written, file) {
			return nil, tfdiags.Errorf("Invalid generate-config-out flag", "The blocks of two modules would be written "+
				"to %s. Give a path in the root module.", file)
		}
		if err := generateTarget(file, plans.Normal); err != nil {
			return nil, err
		}
		written = append(written, file)
	}
	for i, dir := range dirs {
		text := "# __generated__ by OpenTofu\n# Please review these resources and move them into your " +
			"main configuration files.\n\n" + strings.TrimSpace(plan.GeneratedConfig[dir]) + "\n"
		if err := atomicfile.WriteNamed(written[i], hclwrite.Format([]byte(text)), 0o644); err != nil {
			return nil, fmt.Errorf("writing the generated configuration: %w", err)
		}
	}
	warn(tfdiags.Warningf("Config generation is experimental",
		"The generated configuration may look different in later versions. Check it before you use it."))
	return written, nil
}
