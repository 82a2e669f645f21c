package gcs

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"tofu/internal/backend"
	"tofu/internal/backend/objects"
	"tofu/internal/gcpauth"
	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

var (
	errInvalidKey = errors.New("it must be 32 bytes in Base64, or the path of a file that contains them")
	errInvalidURL = errors.New("it must have the form https://HOST/storage/v1/b")
)

// Driver is the gcs backend.
var Driver = backend.New("gcs", open)

// silence is the longest time that a request waits for data from the service before it fails.
const silence = 2 * time.Minute

// scope is the OAuth scope of the tokens.
const scope = "https://www.googleapis.com/auth/devstorage.read_write"

// account holds the clients and credentials that stores with the same settings share.
type account struct {
	*httpclient.Client
	tokens *gcpauth.Source
}

func open(_ context.Context, c *Config) (backend.Store, error) {
	base, err := c.base()
	if err != nil {
		return nil, err
	}
	key, err := c.customerKey()
	if err != nil {
		return nil, err
	}
	account, err := backend.Client(&c.Sharing, []any{backend.Settings(&c.Config), c.Universe},
		func() (*account, error) {
			http := httpclient.New(httpclient.Options{Silence: silence})
			return &account{http, c.Source(scope, c.Universe, http)}, nil
		})
	if err != nil {
		return nil, err
	}
	b := &bucket{name: c.Bucket, base: base, key: key, kmsKey: c.KMSKey,
		api: restapi.Client{HTTP: account.Client, Sign: account.tokens.Sign}}
	s := objects.WithLocks(objects.New(b, c.layout()))
	locks := *b
	locks.key, locks.kmsKey = nil, "" // locks are not encrypted
	s.LockClient = &locks
	s.ID = func(_ *backend.LockInfo, generation string) string { return generation }
	return s, nil
}

const (
	stateSuffix = ".tfstate"
	lockSuffix  = ".tflock"
)

func (c *Config) layout() objects.Layout {
	prefix := strings.TrimLeft(c.Prefix, "/")
	if prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	name := func(workspace, suffix string) string { return path.Join(prefix, workspace+suffix) }
	return objects.Layout{
		State:  func(workspace string) string { return name(workspace, stateSuffix) },
		Lock:   func(workspace string) string { return name(workspace, lockSuffix) },
		Prefix: prefix,
		Workspace: func(key string) (string, bool) {
			workspace, isState := strings.CutSuffix(strings.TrimPrefix(key, prefix), stateSuffix)
			return workspace, isState && workspace != "" && !strings.Contains(workspace, "/")
		},
		Path: func(workspace string) string { return "gs://" + c.Bucket + "/" + name(workspace, lockSuffix) },
	}
}
