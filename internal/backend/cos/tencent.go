package cos

import (
	"context"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tofu/internal/backend/objects"
	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

// keyPair is an access key. Only temporary keys have a token.
type keyPair struct{ id, secret, token string }

// credentials provides the access key of the configuration, or of the role to assume.
type credentials struct {
	config *Config
	roles  *service
	static keyPair

	mu      sync.Mutex
	assumed keyPair
	expires time.Time
}

// Close closes idle connections.
func (k *credentials) Close() { k.roles.http.Close() }

// get returns the access key. It assumes the role when it is first needed, and again before the
// session ends.
func (k *credentials) get(ctx context.Context) (keyPair, error) {
	role := k.config.AssumeRole
	if role == nil {
		return k.static, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	const margin = 5 * time.Minute
	if time.Until(k.expires) > margin {
		return k.assumed, nil
	}
	in := map[string]any{"RoleArn": role.ARN, "RoleSessionName": role.Session, "DurationSeconds": role.Duration}
	if role.Policy != "" {
		in["Policy"] = url.QueryEscape(role.Policy)
	}
	var out struct {
		Credentials struct{ Token, TmpSecretId, TmpSecretKey string }
		ExpiredTime int64
	}
	err := k.roles.call(ctx, k.static, "AssumeRole", in, &out)
	if err != nil {
		return keyPair{}, fmt.Errorf("assuming the role %q: %w", role.ARN, err)
	}
	c := out.Credentials
	k.assumed, k.expires = keyPair{c.TmpSecretId, c.TmpSecretKey, c.Token}, time.Unix(out.ExpiredTime, 0)
	return k.assumed, nil
}

func hexOf(text string) string { return hex.EncodeToString([]byte(text)) }

// signObject signs a request to the storage, as described in the storage's documentation.
func (k *credentials) signObject(ctx context.Context, req *http.Request, _ []byte) error {
	key, err := k.get(ctx)
	if err != nil {
		return err
	}
	if key.token != "" {
		req.Header.Set("X-Cos-Security-Token", key.token)
	}
	const clockSkew, validity = time.Minute, time.Hour
	now := time.Now()
	span := fmt.Sprintf("%d;%d", now.Add(-clockSkew).Unix(), now.Add(validity).Unix())
	params := make(map[string]string)
	for name, values := range req.URL.Query() {
		params[name] = values[0]
	}
	headers := map[string]string{"host": req.URL.Host}
	for name, values := range req.Header {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "x-cos-") || name == "content-type" {
			headers[name] = values[0]
		}
	}
	paramNames, paramText := canonical(params)
	headerNames, headerText := canonical(headers)
	sum := sha1.Sum([]byte(strings.ToLower(req.Method) + "\n" + req.URL.Path + "\n" + paramText +
		"\n" + headerText + "\n"))
	signKey := hexOf(restapi.HMAC(sha1.New, key.secret, span))
	signature := hexOf(restapi.HMAC(sha1.New, signKey, "sha1\n"+span+"\n"+hex.EncodeToString(sum[:])+"\n"))
	req.Header.Set("Authorization", "q-sign-algorithm=sha1&q-ak="+key.id+"&q-sign-time="+span+"&q-key-time="+span+
		"&q-header-list="+headerNames+"&q-url-param-list="+paramNames+"&q-signature="+signature)
	return nil
}

// canonical returns the escaped, sorted names of parameters, and the parameters as "name=value".
func canonical(values map[string]string) (names, text string) {
	var keys, pairs []string
	for name, value := range values {
		name = strings.ToLower(restapi.Escape(name))
		keys, pairs = append(keys, name), append(pairs, name+"="+restapi.Escape(value))
	}
	slices.Sort(keys)
	slices.Sort(pairs)
	return strings.Join(keys, ";"), strings.Join(pairs, "&")
}

// serviceError is an error of a service other than the storage.
type serviceError struct{ Code, Message string }

func (e *serviceError) Error() string { return e.Code + ": " + e.Message }

// service is a service other than the storage. Its requests are signed with TC3-HMAC-SHA256.
type service struct {
	name, version, region string
	http                  *httpclient.Client
}

func newService(name, region string, client *httpclient.Client) *service {
	return &service{name: name, version: "2018-08-13", region: region, http: client}
}

// call calls an action and decodes its response into out.
func (s *service) call(ctx context.Context, key keyPair, action string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	host := s.name + ".tencentcloudapi.com"
	header := http.Header{"Content-Type": {"application/json"}, "X-Tc-Action": {action}, "X-Tc-Version": {s.version},
		"X-Tc-Region": {s.region}}
	signed := &restapi.Client{HTTP: s.http, Sign: func(_ context.Context, req *http.Request, body []byte) error {
		s.sign(req, key, host, body)
		return nil
	}}
	resp, err := signed.Do(ctx, &restapi.Request{Method: http.MethodPost, Header: header, Body: body,
		URL: &url.URL{Scheme: "https", Host: host, Path: "/"}})
	if err != nil {
		return err
	}
	var envelope struct{ Response json.RawMessage }
	var failed struct{ Error *serviceError }
	err = json.Unmarshal(resp.Body, &envelope)
	if err == nil {
		err = json.Unmarshal(envelope.Response, &failed)
	}
	switch {
	case resp.Status != http.StatusOK || err != nil:
		return fmt.Errorf("%s: %w", host, resp.Failure())
	case failed.Error != nil:
		return failed.Error
	}
	return json.Unmarshal(envelope.Response, out)
}

func (s *service) sign(req *http.Request, key keyPair, host string, body []byte) {
	now := time.Now().UTC()
	stamp, date := strconv.FormatInt(now.Unix(), 10), now.Format(time.DateOnly)
	const signedHeaders = "content-type;host"
	hashed := func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) }
	canonicalRequest := "POST\n/\n\ncontent-type:application/json\nhost:" + host + "\n\n" + signedHeaders + "\n" +
		hashed(string(body))
	scope := date + "/" + s.name + "/tc3_request"
	text := "TC3-HMAC-SHA256\n" + stamp + "\n" + scope + "\n" + hashed(canonicalRequest)
	signing := restapi.HMAC(sha256.New,
		restapi.HMAC(sha256.New, restapi.HMAC(sha256.New, "TC3"+key.secret, date), s.name), "tc3_request")
	req.Header.Set("X-Tc-Timestamp", stamp)
	if key.token != "" {
		req.Header.Set("X-Tc-Token", key.token)
	}
	req.Header.Set("Authorization", "TC3-HMAC-SHA256 Credential="+key.id+"/"+scope+", SignedHeaders="+signedHeaders+
		", Signature="+hexOf(restapi.HMAC(sha256.New, signing, text)))
}

// tags creates and removes tags of the account. A tag guards the creation of a lock.
type tags struct {
	keys    *credentials
	service *service
}

const tagKey = "tencentcloud-terraform-lock"

func (t *tags) call(ctx context.Context, action, value string) error {
	key, err := t.keys.get(ctx)
	if err != nil {
		return err
	}
	var out struct{}
	return t.service.call(ctx, key, action, map[string]string{"TagKey": tagKey, "TagValue": value}, &out)
}

// guarded writes lock objects. While it checks that a lock object doesn't exist and creates it, a
// tag keeps other processes from doing the same.
type guarded struct {
	*objects.Bucket
	name string // name of the bucket
	tags *tags
}

// tagTimeout limits the wait for other processes that are creating the same lock.
const tagTimeout = 5 * time.Second

// Put implements objects.Client.
func (g *guarded) Put(ctx context.Context, key string, data []byte, cond objects.Condition) (string, error) {
	sum := md5.Sum([]byte(g.name + ":" + key))
	value := hex.EncodeToString(sum[:])
	if err := g.take(ctx, value); err != nil {
		return "", err
	}
	version, err := g.Bucket.Put(ctx, key, data, cond)
	if tagErr := g.tags.call(context.WithoutCancel(ctx), "DeleteTag", value); tagErr != nil {
		err = errors.Join(err, fmt.Errorf("removing the tag %s=%s, which guards locks: %w", tagKey, value, tagErr))
	}
	return version, err
}

// take creates the tag. While the tag exists, because another process is creating the same lock,
// take tries again until tagTimeout has passed.
func (g *guarded) take(ctx context.Context, value string) error {
	limit := time.Now().Add(tagTimeout)
	for {
		err := g.tags.call(ctx, "CreateTag", value)
		var failed *serviceError
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &failed) || !strings.Contains(failed.Code, "TagDuplicate"):
			return fmt.Errorf("creating the tag %s=%s, which guards locks: %w", tagKey, value, err)
		case time.Now().After(limit):
			return fmt.Errorf("the tag %s=%s exists: a process is creating a lock, or was killed while "+
				"creating one. If no process is running, delete the tag", tagKey, value)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
