package getmodules

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"tofu/internal/httpclient"
	"tofu/internal/registry"
)

// gcs fetches a package from Google Cloud Storage. The URL of the package is
// www.googleapis.com/storage/v1/BUCKET/NAME.
func (f *fetcher) gcs(ctx context.Context, j job) error {
	parts := strings.SplitN(strings.TrimPrefix(j.url.Path, "/"), "/", 4)
	if len(parts) != 4 || parts[0] != "storage" || parts[2] == "" || j.url.Hostname() != "www.googleapis.com" &&
		j.url.Hostname() != "storage.googleapis.com" {
		return fmt.Errorf("%q must have the form "+
			"gcs::https://www.googleapis.com/storage/v1/BUCKET/NAME", httpclient.Redact(j.url))
	}
	b := &gcsBucket{client: f.client, base: *f.gcsServer, name: parts[2], generation: j.url.Fragment,
		auth: f.googleToken}
	return f.objects(ctx, j, b, parts[3])
}

// gcsBucket is a bucket of Google Cloud Storage.
type gcsBucket struct {
	client     *registry.Client
	base       url.URL
	name       string
	generation string // version of the object; "" for the newest one
	auth       registry.Authorize
}

func (b *gcsBucket) at(more string, query url.Values) *url.URL {
	u := b.base
	raw := strings.TrimSuffix(u.Path, "/") + "/storage/v1/b/" + escapeKey(b.name, false) + "/o" + more
	u.RawPath = raw
	u.Path, _ = url.PathUnescape(raw) // raw was just escaped, so there is no error
	u.RawQuery = query.Encode()
	return &u
}

func (b *gcsBucket) object(key string) *url.URL {
	query := url.Values{"alt": {"media"}}
	if b.generation != "" {
		query.Set("generation", b.generation)
	}
	return b.at("/"+escapeKey(key, false), query)
}

func (b *gcsBucket) list(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	query := url.Values{"prefix": {prefix}, "fields": {"items(name),nextPageToken"}}
	for {
		doc, err := b.client.GetAuthorized(ctx, b.at("", query), b.auth)
		if err != nil {
			return nil, err
		}
		var page struct {
			Items         []struct{ Name string }
			NextPageToken string
		}
		if err := doc.JSON(&page); err != nil {
			return nil, err
		}
		for _, item := range page.Items {
			keys = append(keys, item.Name)
		}
		if page.NextPageToken == "" || len(keys) > maxArchiveFiles {
			return keys, nil
		}
		query.Set("pageToken", page.NextPageToken)
	}
}

func (b *gcsBucket) authorize(context.Context) registry.Authorize { return b.auth }

// gcsEndpoint returns the URL of the service. If an emulator is configured, it returns the
// emulator's URL; emulators require no credentials.
func gcsEndpoint() (server *url.URL, emulated bool) {
	if host := os.Getenv("STORAGE_EMULATOR_HOST"); host != "" {
		if !strings.Contains(host, "://") {
			host = "http://" + host
		}
		if u, err := url.Parse(host); err == nil && u.Host != "" {
			return u, true
		}
	}
	return &url.URL{Scheme: "https", Host: "storage.googleapis.com"}, false
}

// googleCredentials returns a function that adds tokens to requests. It obtains them in the same
// way as Google's own tools. If there are no credentials, requests are sent without authorization,
// which is enough for public buckets.
func googleCredentials() registry.Authorize {
	find := sync.OnceValues(func() (func() (string, error), error) {
		if token := os.Getenv("GOOGLE_OAUTH_ACCESS_TOKEN"); token != "" {
			return func() (string, error) { return token, nil }, nil
		}
		ctx := context.WithValue(context.Background(), oauth2.HTTPClient, httpclient.New(httpclient.Options{}).Std())
		creds, err := google.FindDefaultCredentials(ctx, "https://www.googleapis.com/auth/devstorage.read_only")
		if err != nil {
			if os.Getenv("GOOGLE_APPLICATION_CREDENTIALS") != "" {
				return nil, fmt.Errorf("reading Google's credentials: %w", err)
			}
			return nil, nil
		}
		return func() (string, error) {
			token, err := creds.TokenSource.Token()
			if err != nil {
				return "", fmt.Errorf("requesting a token from Google: %w", httpclient.Clean(err))
			}
			return token.AccessToken, nil
		}, nil
	})
	return func(req *http.Request) error {
		token, err := find()
		if err != nil || token == nil {
			return err
		}
		text, err := token()
		if err == nil {
			req.Header.Set("Authorization", "Bearer "+text)
		}
		return err
	}
}
