package all_test

import (
	"strings"
	"testing"

	"tofu/internal/backend/all"
	"tofu/internal/configs/blocks"
	"tofu/internal/configschema"
)

func TestDriver(t *testing.T) {
	for name, want := range map[string]string{
		"local": "", "inmem": "", "http": "", "pg": "", "azurerm": "", "consul": "", "gcs": "",
		"kubernetes": "", "s3": "",
		"remote": "", "cloud": "", "cos": "", "oss": "",
		"etcd":   `The backend "etcd" is no longer supported.`,
		"floppy": `There is no backend named "floppy". Use one of: local, http, pg, inmem, `,
		"Local":  `There is no backend named "Local".`,
	} {
		d, err := all.Driver(name)
		switch {
		case want == "" && (err != nil || d.Name != name || d.Config() == nil):
			t.Errorf("%s: %v, %v", name, d, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
}

// TestDocs checks that all arguments of all backends are described.
func TestDocs(t *testing.T) {
	var check func(path string, b *configschema.Block)
	check = func(path string, b *configschema.Block) {
		for name, a := range b.Attributes {
			if a.Description == "" {
				t.Errorf("%s.%s has no description", path, name)
			}
		}
		for name, nested := range b.BlockTypes {
			check(path+"."+name, &nested.Block)
		}
	}
	for _, d := range all.Drivers() {
		check(d.Name, blocks.Schema(d.Config()))
	}
}
