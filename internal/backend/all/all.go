package all

import (
	"slices"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/backend/azurerm"
	"tofu/internal/backend/consul"
	"tofu/internal/backend/http"
	"tofu/internal/backend/inmem"
	"tofu/internal/backend/local"
	"tofu/internal/backend/pg"
	"tofu/internal/backend/s3"
	"tofu/internal/tfdiags"
)

// drivers lists the backends.
var drivers = []*backend.Driver{
	local.Driver,
	http.Driver,
	pg.Driver,
	inmem.Driver,
	azurerm.Driver,
	consul.Driver,
	s3.Driver,
	unsupported("cloud"),
	unsupported("cos"),
	unsupported("gcs"),
	unsupported("kubernetes"),
	unsupported("oss"),
	unsupported("remote"),
}

func unsupported(name string) *backend.Driver {
	return &backend.Driver{Name: name, Unsupported: "Supported backends: " + strings.Join(supported, ", ") + "."}
}

var supported = []string{"local", "http", "pg", "inmem", "azurerm", "consul", "s3"}

// removed explains the removal of backends that older versions had.
var removed = map[string]string{
	"artifactory": "It was removed in version 1.3.",
	"etcd":        "It was removed in version 1.3.",
	"etcdv3":      "It was removed in version 1.3.",
	"manta":       "It was removed in version 1.3.",
	"swift":       "It was removed in version 1.3; use \"s3\" where the service speaks that protocol.",
	"azure":       "It was renamed to \"azurerm\".",
}

// Driver returns the driver with that name, or an error that explains why there is none.
func Driver(name string) (*backend.Driver, error) {
	i := slices.IndexFunc(drivers, func(d *backend.Driver) bool { return d.Name == name })
	switch {
	case i < 0 && removed[name] != "":
		return nil, tfdiags.Errorf("Unsupported backend type", "The backend %q is no longer supported. %s",
			name, removed[name])
	case i < 0:
		return nil, tfdiags.Errorf("Unsupported backend type", "There is no backend named %q. Use one of: %s.",
			name, strings.Join(supported, ", "))
	case drivers[i].Unsupported != "":
		return nil, tfdiags.Errorf("Unsupported backend type", "The backend %q is known but not supported. %s",
			name, drivers[i].Unsupported)
	}
	return drivers[i], nil
}

// Unsupported reports whether this program only knows the name of a backend.
func Unsupported(name string) bool {
	return slices.ContainsFunc(drivers, func(d *backend.Driver) bool { return d.Name == name && d.Unsupported != "" })
}
