package gcpauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"tofu/internal/configs/blocks"
	"tofu/internal/httpclient"
	"tofu/internal/restapi"
)

// Config holds the shared arguments. Drivers embed it in their configuration.
type Config struct {
	Credentials string   `cfg:"credentials,sensitive" env:"GOOGLE_BACKEND_CREDENTIALS,GOOGLE_CREDENTIALS"`
	AccessToken string   `cfg:"access_token,sensitive" env:"GOOGLE_OAUTH_ACCESS_TOKEN"`
	Impersonate string   `cfg:"impersonate_service_account" env:"GOOGLE_BACKEND_IMPERSONATE_SERVICE_ACCOUNT,GOOGLE_IMPERSONATE_SERVICE_ACCOUNT"`
	Delegates   []string `cfg:"impersonate_service_account_delegates"`
}

// Docs implements blocks.Documented.
func (*Config) Docs() blocks.Docs {
	return blocks.Docs{
		"credentials":                 "A JSON file with Google credentials, or its content.",
		"access_token":                "An OAuth 2.0 access token, used instead of credentials.",
		"impersonate_service_account": "The service account to impersonate.",
		"impersonate_service_account_delegates": "The chain of service accounts that delegate to the " +
			"impersonated one.",
	}
}

// Source authenticates requests with the configured credentials. It is safe for concurrent use.
type Source struct {
	config   Config
	scope    string
	universe string
	client   *httpclient.Client

	mu           sync.Mutex
	tokens       oauth2.TokenSource
	impersonated oauth2.Token
}

// DefaultUniverse is the domain of Google Cloud.
const DefaultUniverse = "googleapis.com"

// Source returns the source of tokens that the arguments describe. universe is the domain of a
// sovereign cloud, or "" for Google's own.
func (c *Config) Source(scope, universe string, client *httpclient.Client) *Source {
	if universe == "" {
		universe = DefaultUniverse
	}
	return &Source{config: *c, scope: scope, universe: universe, client: client}
}

// Sign adds a token to a request. It can be used as restapi.Client.Sign.
func (s *Source) Sign(ctx context.Context, req *http.Request, _ []byte) error {
	token, err := s.token(ctx)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// cloudScope is the scope that includes all services of Google Cloud. A token with this scope is
// needed to impersonate a service account.
const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

func (s *Source) token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.impersonated.Valid() {
		return s.impersonated.AccessToken, nil
	}
	if s.tokens == nil {
		tokens, err := s.find()
		if err != nil {
			return "", err
		}
		s.tokens = tokens
	}
	token, err := s.tokens.Token()
	if err != nil {
		return "", explain(err)
	}
	if s.config.Impersonate == "" {
		return token.AccessToken, nil
	}
	if err := s.impersonate(ctx, token.AccessToken); err != nil {
		return "", fmt.Errorf("impersonating the service account %s: %w", s.config.Impersonate, err)
	}
	return s.impersonated.AccessToken, nil
}

// find returns the source of the caller's own tokens, without impersonation.
func (s *Source) find() (oauth2.TokenSource, error) {
	if s.config.AccessToken != "" {
		return oauth2.StaticTokenSource(&oauth2.Token{AccessToken: s.config.AccessToken}), nil
	}
	scope := s.scope
	if s.config.Impersonate != "" {
		scope = cloudScope
	}
	// All tokens are requested with the HTTP client in this context, including renewed ones.
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, s.client.Std())
	params := google.CredentialsParams{Scopes: []string{scope}}
	if s.universe != DefaultUniverse {
		params.UniverseDomain = s.universe
	}
	if s.config.Credentials == "" {
		found, err := google.FindDefaultCredentialsWithParams(ctx, params)
		if err != nil {
			return nil, s.nothingFound(err)
		}
		return found.TokenSource, nil
	}
	text, err := s.config.read()
	if err != nil {
		return nil, err
	}
	var file struct{ Type google.CredentialsType }
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("the Google credentials in \"credentials\" are not valid JSON: %w", err)
	}
	found, err := google.CredentialsFromJSONWithTypeAndParams(ctx, text, file.Type, params)
	if err != nil {
		return nil, fmt.Errorf("the Google credentials in \"credentials\" can't be used: %w", err)
	}
	return found.TokenSource, nil
}

// read returns the credentials in JSON, from the argument itself or from the file that it names.
func (c *Config) read() ([]byte, error) {
	if strings.HasPrefix(strings.TrimSpace(c.Credentials), "{") {
		return []byte(c.Credentials), nil
	}
	path := c.Credentials
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, err
		}
		path = filepath.Join(home, rest)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		failed, ok := errors.AsType[*os.PathError](err)
		if ok && len(path) > 200 { // the "path" may be mangled credentials, which must not be shown
			err = failed.Err
		}
		return nil, fmt.Errorf("reading the file that \"credentials\" names: %w", err)
	}
	return text, nil
}

func (s *Source) nothingFound(err error) error {
	if path := os.Getenv("GOOGLE_APPLICATION_CREDENTIALS"); path != "" {
		return fmt.Errorf("reading GOOGLE_APPLICATION_CREDENTIALS, %s: %w", path, err)
	}
	return errors.New("there are no Google credentials. These places were searched: the arguments \"access_token\" " +
		"and \"credentials\" with their environment variables GOOGLE_OAUTH_ACCESS_TOKEN, GOOGLE_BACKEND_CREDENTIALS " +
		"and GOOGLE_CREDENTIALS; GOOGLE_APPLICATION_CREDENTIALS; the file that \"gcloud auth application-default " +
		"login\" writes; the metadata server of Google Cloud")
}

// explain returns the reason why no token could be obtained.
func explain(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		return fmt.Errorf("requesting a token from Google: %w", httpclient.Clean(err))
	}
	answer := struct {
		Error       string
		Description string `json:"error_description"`
	}{refused.ErrorCode, refused.ErrorDescription}
	if answer.Error == "" { // the library doesn't read the answers to service accounts
		_ = json.Unmarshal(refused.Body, &answer) // an answer in another format has no reason
	}
	text := strings.TrimSpace(answer.Error + " " + answer.Description)
	if answer.Error == "invalid_grant" {
		return fmt.Errorf("the credentials are not accepted by Google: they have expired or were revoked, or the "+
			"clock of this machine is wrong (%s). User credentials are renewed by \"gcloud auth application-default "+
			"login\"", text)
	}
	if text == "" && refused.Response != nil {
		text = refused.Response.Status
	}
	return fmt.Errorf("requesting a token from Google: %s", text)
}

// impersonate gets a token for the service account. own is the caller's own token.
func (s *Source) impersonate(ctx context.Context, own string) error {
	const lifetime = "3600s"
	account := func(name string) string { return "projects/-/serviceAccounts/" + name }
	request := struct {
		Scope     []string `json:"scope"`
		Lifetime  string   `json:"lifetime"`
		Delegates []string `json:"delegates,omitempty"`
	}{Scope: []string{s.scope}, Lifetime: lifetime}
	for _, name := range s.config.Delegates {
		request.Delegates = append(request.Delegates, account(name))
	}
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	to := &url.URL{Scheme: "https", Host: "iamcredentials." + s.universe,
		Path: "/v1/" + account(s.config.Impersonate) + ":generateAccessToken"}
	api := restapi.Client{HTTP: s.client}
	resp, err := api.Do(ctx, &restapi.Request{Method: http.MethodPost, URL: to, Body: body,
		Header: http.Header{"Authorization": {"Bearer " + own}, "Content-Type": {"application/json"}}})
	if err != nil {
		return err
	}
	if resp.Status != http.StatusOK {
		return Failure(resp)
	}
	var answer struct {
		AccessToken string
		ExpireTime  time.Time
	}
	if err := json.Unmarshal(resp.Body, &answer); err != nil || answer.AccessToken == "" {
		return errors.New("the response has no token")
	}
	s.impersonated = oauth2.Token{AccessToken: answer.AccessToken, Expiry: answer.ExpireTime}
	return nil
}

// Failure returns the error in a response from a Google service.
func Failure(resp *restapi.Response) error {
	var body struct {
		Error struct{ Status, Message string }
	}
	_ = json.Unmarshal(resp.Body, &body) // a body in another format has no message
	status := fmt.Sprintf("%d %s", resp.Status, http.StatusText(resp.Status))
	if body.Error.Message == "" {
		return fmt.Errorf("%s responded with %s", resp.From, status)
	}
	return fmt.Errorf("%s responded with %s: %s", resp.From, status, body.Error.Message)
}
