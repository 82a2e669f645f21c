package azurerm

import (
	"context"
	"strings"
	"time"

	"tofu/internal/backend"
	"tofu/internal/backend/objects"
	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

// Driver is the azurerm backend.
var Driver = backend.New("azurerm", open)

func open(_ context.Context, c *Config) (backend.Store, error) {
	l, err := backend.Client(&c.Sharing, backend.Settings(c, "key", "snapshot", "timeout_seconds"),
		func() (*login, error) {
			return &login{config: c, http: httpclient.New(httpclient.Options{Silence: silence})}, nil
		})
	if err != nil {
		return nil, err
	}
	b := &blobs{config: *c, known: make(map[string]*blob)}
	b.login = l
	b.api = restapi.Client{HTTP: b.login.http, Sign: b.login.sign}
	layout := objects.Layout{
		State: c.blobName, Prefix: c.Key + workspaceMark,
		Workspace: func(name string) (string, bool) { return strings.CutPrefix(name, c.Key+workspaceMark) },
	}
	return &Store{Store: objects.New(b, layout), blobs: b}, nil
}

// silence is the longest time that a request waits for data from the service before it fails.
const silence = 2 * time.Minute

// workspaceMark separates the key and the name of the workspace in the name of a blob.
const workspaceMark = "env:"

func (c *Config) blobName(workspace string) string {
	if workspace == backend.DefaultWorkspace {
		return c.Key
	}
	return c.Key + workspaceMark + workspace
}

// Store keeps states in a container. It implements backend.Store, backend.Swapper and
// backend.Locker.
type Store struct {
	*objects.Store
	blobs *blobs
}
