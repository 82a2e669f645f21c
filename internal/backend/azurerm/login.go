package azurerm

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tofu/internal/azureauth"
	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

// login authenticates requests about blobs. It looks up keys and tokens when the first request is
// sent.
type login struct {
	config *Config
	http   *httpclient.Client

	mu        sync.Mutex
	cloud     *azureauth.Cloud
	principal *azureauth.Credential
	key       []byte // access key
}

// Close closes idle connections.
func (l *login) Close() { l.http.Close() }

// containerURL returns the URL of the container. The first call looks up the cloud environment.
func (l *login) containerURL(ctx context.Context) (*url.URL, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cloud == nil {
		cloud, err := l.config.Cloud(ctx, l.http)
		if err != nil {
			return nil, err
		}
		l.cloud, l.principal = cloud, l.config.Credential(cloud, l.http)
	}
	return &url.URL{Scheme: "https", Host: l.host(), Path: "/" + l.config.Container}, nil
}

// host returns the host name of the storage account's blob service.
func (l *login) host() string { return l.config.Account + ".blob." + l.cloud.StorageSuffix }

// storageScope is the scope of tokens for blobs.
const storageScope = "https://storage.azure.com/.default"

// sign authenticates a request with an access key, a shared access signature or a token.
func (l *login) sign(ctx context.Context, req *http.Request, body []byte) error {
	switch {
	case l.config.AccessKey == "" && l.config.SASToken != "":
		u := *req.URL // a copy, because the request may be sent again
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+strings.TrimPrefix(l.config.SASToken, "?"), "&")
		req.URL = &u
		return nil
	case l.config.AccessKey == "" && l.config.UseAzureAD:
		token, err := l.principal.Token(ctx, storageScope)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
	key, err := l.accessKey(ctx)
	if err != nil {
		return err
	}
	req.Header.Set("X-Ms-Date", time.Now().UTC().Format(http.TimeFormat))
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(stringToSign(req, l.config.Account, len(body))))
	req.Header.Set("Authorization", "SharedKey "+l.config.Account+":"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	return nil
}

// stringToSign returns the string that is signed with the access key, as defined in the protocol's
// documentation under "Authorize with Shared Key".
func stringToSign(req *http.Request, account string, length int) string {
	size := ""
	if length > 0 {
		size = strconv.Itoa(length)
	}
	lines := []string{req.Method, req.Header.Get("Content-Encoding"), req.Header.Get("Content-Language"), size}
	for _, name := range []string{"Content-Md5", "Content-Type", "Date", "If-Modified-Since", "If-Match",
		"If-None-Match", "If-Unmodified-Since", "Range"} {
		lines = append(lines, req.Header.Get(name))
	}
	own := make(map[string][]string)
	for name, values := range req.Header {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "x-ms-") {
			own[name] = values
		}
	}
	lines = append(lines, canonical(own)...)
	lines = append(lines, "/"+account+req.URL.EscapedPath())
	return strings.Join(append(lines, canonical(req.URL.Query())...), "\n")
}

// canonical returns one line "name:values" for each entry, sorted by name.
func canonical(values map[string][]string) []string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		sorted := slices.Sorted(slices.Values(values[name]))
		lines = append(lines, strings.ToLower(name)+":"+strings.TrimSpace(strings.Join(sorted, ",")))
	}
	return lines
}

// accessKey returns the access key in the configuration, or else an access key that it requests
// from Azure Resource Manager.
func (l *login) accessKey(ctx context.Context) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key != nil {
		return l.key, nil
	}
	text := l.config.AccessKey
	if text == "" {
		var err error
		text, err = l.lookUpKey(ctx)
		if err != nil {
			return nil, fmt.Errorf("looking up the access key of the storage account %s: %w. To authenticate without one, "+
				"set \"use_azuread_auth\"", l.config.Account, err)
		}
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("the access key of the storage account is not in Base64")
	}
	l.key = key
	return key, nil
}

func (l *login) lookUpKey(ctx context.Context) (string, error) {
	subscription, err := l.principal.Subscription(ctx)
	if err != nil {
		return "", err
	}
	base, err := url.Parse(l.cloud.Management)
	if err != nil {
		return "", err
	}
	base.Path = strings.TrimRight(base.Path, "/") + "/" // without it, JoinPath returns relative paths
	to := base.JoinPath("subscriptions", url.PathEscape(subscription), "resourceGroups",
		url.PathEscape(l.config.ResourceGroup), "providers/Microsoft.Storage/storageAccounts",
		l.config.Account, "listKeys")
	to.RawQuery = "api-version=2024-01-01"
	scope := strings.TrimSuffix(l.cloud.Audience, "/") + "//.default" // the audience ends with a slash
	api := restapi.Client{HTTP: l.http, Sign: func(ctx context.Context, req *http.Request, _ []byte) error {
		token, err := l.principal.Token(ctx, scope)
		req.Header.Set("Authorization", "Bearer "+token)
		return err
	}}
	resp, err := api.Do(ctx, &restapi.Request{Method: http.MethodPost, URL: to})
	if err != nil {
		return "", err
	}
	var answer struct {
		Keys []struct {
			Value       string
			Permissions string
		}
		Error struct{ Code, Message string }
	}
	err = json.Unmarshal(resp.Body, &answer)
	switch {
	case resp.Status != http.StatusOK:
		return "", errors.New(strings.TrimSpace(fmt.Sprintf("%s responded with %d %s %s",
			to.Host, resp.Status, answer.Error.Code, answer.Error.Message)))
	case err != nil:
		return "", fmt.Errorf("invalid response from %s: %w", to.Host, err)
	}
	for _, key := range answer.Keys {
		if key.Value != "" && !strings.EqualFold(key.Permissions, "Read") {
			return key.Value, nil
		}
	}
	return "", errors.New("it has no key that permits writing")
}
