package oss

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

// accessKey is an access key. Only temporary keys have a token.
type accessKey struct{ id, secret, token string }

// temporary is an access key and the time at which it expires.
type temporary struct {
	accessKey
	expires time.Time
}

// credentials provides the access key of the configuration, of a profile or of the instance, or the
// key of a role that is assumed with that key.
type credentials struct {
	config *Config
	http   *restapi.Client
	direct *restapi.Client // a client that uses no proxy

	mu      sync.Mutex
	current temporary
}

func newCredentials(c *Config) *credentials {
	client, direct := c.HTTP, c.HTTP
	if client == nil {
		client = httpclient.New(httpclient.Options{})
		direct = httpclient.New(httpclient.Options{Proxy: func(*http.Request) (*url.URL, error) { return nil, nil }})
	}
	return &credentials{config: c, http: &restapi.Client{HTTP: client},
		direct: &restapi.Client{HTTP: direct, Retries: 2}}
}

// Close closes idle connections.
func (k *credentials) Close() {
	k.http.HTTP.Close()
	k.direct.HTTP.Close()
}

// margin is how long before its expiry a temporary key is replaced.
const margin = 5 * time.Minute

// get returns the access key. It looks up the key at the first call, and again before the key
// expires.
func (k *credentials) get(ctx context.Context) (accessKey, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current.id != "" && (k.current.expires.IsZero() || time.Until(k.current.expires) > margin) {
		return k.current.accessKey, nil
	}
	found, err := k.find(ctx)
	if err == nil {
		if role := k.config.role(); role != nil {
			found, err = k.assume(ctx, found.accessKey, role)
		}
	}
	if err != nil {
		return accessKey{}, err
	}
	k.current = found
	return found.accessKey, nil
}

// source describes where the access key comes from.
func (c *Config) source() string {
	switch {
	case c.AccessKey != "" && c.SecretKey != "":
		return "the arguments access_key and secret_key, or ALICLOUD_ACCESS_KEY and ALICLOUD_SECRET_KEY"
	case c.hasProfile():
		return fmt.Sprintf("the profile %q in the file %s", c.profile(), c.file())
	case c.ECSRole != "":
		return fmt.Sprintf("the role %q of the ECS instance", c.ECSRole)
	}
	return "nowhere"
}

func (c *Config) hasProfile() bool { return c.Profile != "" || c.File != "" }

func (c *Config) profile() string { return cmp.Or(c.Profile, "default") }

// file returns the path of the file with the profiles.
func (c *Config) file() string {
	path := cmp.Or(c.File, "~/.aliyun/config.json")
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, err := os.UserHomeDir(); err == nil {
			return home + filepath.FromSlash(rest)
		}
	}
	return path
}

func (k *credentials) find(ctx context.Context) (temporary, error) {
	c := k.config
	switch {
	case c.AccessKey != "" && c.SecretKey != "":
		return temporary{accessKey: accessKey{c.AccessKey, c.SecretKey, c.SecurityToken}}, nil
	case c.hasProfile():
		found, err := k.fromProfile(ctx)
		if err != nil {
			err = fmt.Errorf("the profile %q in the file %s: %w", c.profile(), c.file(), err)
		}
		return found, err
	case c.ECSRole != "":
		return k.ofInstance(ctx, c.ECSRole)
	}
	return temporary{}, errors.New("there is no access key: set access_key and secret_key, the environment variables " +
		"ALICLOUD_ACCESS_KEY and ALICLOUD_SECRET_KEY, profile, or ecs_role_name")
}

// profile is a profile of the command line tool of Alibaba Cloud.
type profile struct {
	Name    string
	Mode    string
	ID      string `json:"access_key_id"`
	Secret  string `json:"access_key_secret"`
	Token   string `json:"sts_token"`
	Role    string `json:"ram_role_name"`
	RoleARN string `json:"ram_role_arn"`
	Session string `json:"ram_session_name"`
	Seconds int    `json:"expired_seconds"`
}

func (k *credentials) fromProfile(ctx context.Context) (temporary, error) {
	text, err := os.ReadFile(k.config.file())
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		return temporary{}, pathErr.Err // find adds the path
	}
	if err != nil {
		return temporary{}, err
	}
	var file struct{ Profiles []profile }
	if err := json.Unmarshal(text, &file); err != nil {
		return temporary{}, fmt.Errorf("the file is not in the format of the Alibaba Cloud command line: %w", err)
	}
	i := slices.IndexFunc(file.Profiles, func(p profile) bool { return p.Name == k.config.profile() })
	if i < 0 {
		return temporary{}, errors.New("there is no such profile")
	}
	p := file.Profiles[i]
	static := accessKey{p.ID, p.Secret, p.Token}
	switch p.Mode {
	case "AK", "StsToken":
		return temporary{accessKey: static}, nil
	case "EcsRamRole":
		return k.ofInstance(ctx, p.Role)
	case "RamRoleArn":
		seconds := cmp.Or(p.Seconds, shortestSession)
		return k.assume(ctx, static, &Role{ARN: p.RoleARN, Session: cmp.Or(p.Session, "tofu"), Seconds: seconds})
	}
	return temporary{}, fmt.Errorf("the mode %q is not supported; use AK, StsToken, RamRoleArn or EcsRamRole", p.Mode)
}

// metadataHost serves information about an ECS instance.
const metadataHost = "100.100.100.200"

// ofInstance returns the key that the metadata service provides for a role of the instance.
func (k *credentials) ofInstance(ctx context.Context, role string) (temporary, error) {
	failed := func(err error) (temporary, error) {
		return temporary{},
			fmt.Errorf("the key of the role %q from the metadata service of the ECS instance: %w", role, err)
	}
	ask := func(method, path string, header http.Header) (*restapi.Response, error) {
		u := &url.URL{Scheme: "http", Host: metadataHost, Path: path}
		resp, err := k.direct.Do(ctx, &restapi.Request{Method: method, URL: u, Header: header})
		if err == nil && resp.Status != http.StatusOK {
			err = resp.Failure()
		}
		return resp, err
	}
	token, err := ask(http.MethodPut, "/latest/api/token",
		http.Header{"X-Aliyun-Ecs-Metadata-Token-Ttl-Seconds": {"60"}})
	if err != nil {
		return failed(err)
	}
	resp, err := ask(http.MethodGet, "/latest/meta-data/ram/security-credentials/"+role,
		http.Header{"X-Aliyun-Ecs-Metadata-Token": {string(token.Body)}})
	if err != nil {
		return failed(err)
	}
	var out issued
	if err := json.Unmarshal(resp.Body, &out); err != nil {
		return failed(err)
	}
	return out.key(), nil
}

// issued is a temporary key in the form that services return.
type issued struct {
	AccessKeyId, AccessKeySecret, SecurityToken string
	Expiration                                  time.Time
}

func (i *issued) key() temporary {
	return temporary{accessKey{i.AccessKeyId, i.AccessKeySecret, i.SecurityToken}, i.Expiration}
}

// assume returns a temporary key for a role.
func (k *credentials) assume(ctx context.Context, key accessKey, role *Role) (temporary, error) {
	endpoint, err := address(cmp.Or(k.config.STSEndpoint, "sts.aliyuncs.com"))
	if err != nil {
		return temporary{}, err
	}
	params := map[string]string{"Action": "AssumeRole", "Version": "2015-04-01", "Format": "JSON",
		"RoleArn": role.ARN, "RoleSessionName": role.Session, "DurationSeconds": strconv.Itoa(role.Seconds)}
	if role.Policy != "" {
		params["Policy"] = role.Policy
	}
	client := &restapi.Client{HTTP: k.http.HTTP, Sign: func(_ context.Context, req *http.Request, _ []byte) error {
		req.URL.RawQuery = signedQuery(params, key)
		return nil
	}}
	endpoint.Path = "/"
	resp, err := client.Do(ctx, &restapi.Request{Method: http.MethodPost, URL: endpoint})
	var out struct {
		Code, Message string
		Credentials   issued
	}
	if err == nil && json.Unmarshal(resp.Body, &out) != nil {
		err = resp.Failure()
	}
	if err == nil && resp.Status != http.StatusOK {
		err = fmt.Errorf("%s: %s (status %d); the access key comes from %s", out.Code, out.Message, resp.Status,
			k.config.source())
	}
	if err != nil {
		return temporary{}, fmt.Errorf("assuming the role %q: %w", role.ARN, err)
	}
	return out.Credentials.key(), nil
}

// signedQuery returns the query for calling a service, with its signature.
func signedQuery(params map[string]string, key accessKey) string {
	all := map[string]string{"AccessKeyId": key.id, "SignatureMethod": "HMAC-SHA1", "SignatureVersion": "1.0",
		"SignatureNonce": rand.Text(), "Timestamp": time.Now().UTC().Format("2006-01-02T15:04:05Z")}
	if key.token != "" {
		all["SecurityToken"] = key.token
	}
	maps.Copy(all, params)
	var pairs []string
	for name, value := range all {
		pairs = append(pairs, restapi.Escape(name)+"="+restapi.Escape(value))
	}
	slices.Sort(pairs)
	query := strings.Join(pairs, "&")
	return query + "&Signature=" +
		restapi.Escape(base64Of(restapi.HMAC(sha1.New, key.secret+"&", "POST&%2F&"+restapi.Escape(query))))
}
