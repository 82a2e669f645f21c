package all

import (
	"slices"
	"strings"

	"tofu/internal/backend"
	"tofu/internal/backend/azurerm"
	"tofu/internal/backend/consul"
	"tofu/internal/backend/cos"
	"tofu/internal/backend/gcs"
	"tofu/internal/backend/http"
	"tofu/internal/backend/inmem"
	"tofu/internal/backend/kubernetes"
	"tofu/internal/backend/local"
	"tofu/internal/backend/oss"
	"tofu/internal/backend/pg"
	"tofu/internal/backend/postgres"
	"tofu/internal/backend/remote"
	"tofu/internal/backend/s3"
	"tofu/internal/tfdiags"
)

// drivers lists the backends, in the order in which messages name them.
var drivers = []*backend.Driver{
	local.Driver,
	http.Driver,
	pg.Driver,
	inmem.Driver,
	azurerm.Driver,
	consul.Driver,
	gcs.Driver,
	kubernetes.Driver,
	s3.Driver,
	remote.Driver,
	remote.CloudDriver,
	cos.Driver,
	oss.Driver,
	postgres.Driver,
}

// Drivers returns the drivers of all backends, in the order in which messages name them. They
// include the driver of the cloud block, with the name "cloud".
func Drivers() []*backend.Driver { return slices.Clone(drivers) }

// removed holds, for each backend that only older versions had, the sentence that explains its
// removal or new name.
var removed = map[string]string{
	"artifactory": "It was removed in version 1.3.",
	"etcd":        "It was removed in version 1.3.",
	"etcdv3":      "It was removed in version 1.3.",
	"manta":       "It was removed in version 1.3.",
	"swift":       "It was removed in version 1.3; use \"s3\" if the service supports that protocol.",
	"azure":       "It was renamed to \"azurerm\".",
}

// Driver returns the driver with the given name. If no such driver exists, the error explains why.
func Driver(name string) (*backend.Driver, error) {
	var names []string
	for _, d := range drivers {
		if d.Name == name {
			return d, nil
		}
		names = append(names, d.Name)
	}
	if removed[name] != "" {
		return nil, tfdiags.Errorf("Unsupported backend type", "The backend %q is no longer supported. %s",
			name, removed[name])
	}
	return nil, tfdiags.Errorf("Unsupported backend type", "There is no backend named %q. Use one of: %s.",
		name, strings.Join(names, ", "))
}
