package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"tofu/internal/httpclient"
	"tofu/internal/limits"
)

// Login describes a host's login.v1 service. Only the authorization code grant is supported.
type Login struct {
	Client       string // client_id of this program
	Authz, Token *url.URL
	Ports        [2]int // range of ports for the local listener; zeros if any port is allowed
	Scopes       []string
}

// Login returns a host's login service. The error is a *NoServiceError if the host has no login
// service.
func (c *Client) Login(ctx context.Context, host string) (*Login, error) {
	found, err := c.offers(ctx, host)
	if err != nil {
		return nil, err
	}
	raw, ok := found.urls["login.v1"]
	if !ok {
		return nil, &NoServiceError{host, "login.v1"}
	}
	text, err := json.Marshal(raw) // convert the value back to JSON, to decode it into a struct
	if err != nil {
		return nil, fmt.Errorf("reading the login service of %s: %w", host, err)
	}
	var service struct {
		Client     string   `json:"client"`
		GrantTypes []string `json:"grant_types"`
		Authz      string   `json:"authz"`
		Token      string   `json:"token"`
		Ports      *[]int   `json:"ports"`
		Scopes     any      `json:"scopes"`
	}
	if err := json.Unmarshal(text, &service); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
			return nil, fmt.Errorf("the login service of %s has the wrong type for %q: %s", host, wrong.Field,
				wrong.Value)
		}
		return nil, fmt.Errorf("the login service of %s is not described by a JSON object", host)
	}
	if service.GrantTypes != nil && !slices.Contains(service.GrantTypes, "authz_code") {
		return nil, fmt.Errorf("the login service of %s offers only the grant types %q; this program supports only "+
			"\"authz_code\"", host, service.GrantTypes)
	}
	out := &Login{Client: service.Client}
	list, _ := service.Scopes.([]any) // if it is not a list, there are no scopes
	for _, scope := range list {
		text, ok := scope.(string)
		if !ok {
			return nil, fmt.Errorf("the list \"scopes\" of the login service of %s has an element that is not a string",
				host)
		}
		out.Scopes = append(out.Scopes, text)
	}
	if service.Ports != nil {
		ports := *service.Ports
		if len(ports) != 2 || ports[0] < 1024 || ports[1] > 65535 || ports[0] > ports[1] {
			return nil, fmt.Errorf("the login service of %s has the \"ports\" %v instead of the first and "+
				"last port of a range between 1024 and 65535", host, ports)
		}
		out.Ports = [2]int(ports)
	}
	for _, part := range []struct {
		name, text string
		into       **url.URL
	}{{"authz", service.Authz, &out.Authz}, {"token", service.Token, &out.Token}} {
		u, err := found.base.Parse(part.text)
		if err != nil || part.text == "" || u.User != nil || u.Scheme != "https" && u.Scheme != "http" {
			return nil, fmt.Errorf("the login service of %s has no usable %q URL", host, part.name)
		}
		*part.into = u
	}
	if out.Client == "" {
		return nil, fmt.Errorf("the login service of %s has no \"client\" ID", host)
	}
	return out, nil
}

// AuthzURL returns the URL of the page on which the user grants access. The host then redirects the
// browser to the given redirect URL, with a code.
func (l *Login) AuthzURL(state, challenge, redirect string) string {
	u := *l.Authz
	q := u.Query()
	for name, value := range map[string]string{
		"response_type": "code", "client_id": l.Client, "state": state, "redirect_uri": redirect,
		"code_challenge": challenge, "code_challenge_method": "S256",
	} {
		q.Set(name, value)
	}
	if len(l.Scopes) > 0 {
		q.Set("scope", strings.Join(l.Scopes, " "))
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// Exchange sends the code to the host and returns the token.
func (c *Client) Exchange(ctx context.Context, l *Login, code, verifier, redirect string) (string, error) {
	form := url.Values{
		"grant_type": {"authorization_code"}, "client_id": {l.Client}, "code": {code},
		"code_verifier": {verifier}, "redirect_uri": {redirect},
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.Token.String(), strings.NewReader(form.Encode()))
	if err != nil {
		return "", fmt.Errorf("requesting the token: %w", err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", c.userAgent)
	resp, err := c.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("requesting the token: %w", err)
	}
	defer resp.Body.Close()
	answer, err := readToken(resp)
	switch {
	case answer.Error != "":
		return "", fmt.Errorf("the host refused to issue a token: %s", strings.TrimSpace(answer.Error+" "+
			answer.Description))
	case resp.StatusCode/100 != 2:
		return "", &StatusError{URL: httpclient.Redact(l.Token), Code: resp.StatusCode}
	case err != nil:
		return "", fmt.Errorf("the host's response with the token is invalid: %w", err)
	case answer.AccessToken == "":
		return "", errors.New("the host's response has no token")
	}
	return answer.AccessToken, nil
}

type tokenAnswer struct {
	AccessToken string `json:"access_token"`
	Error       string `json:"error"`
	Description string `json:"error_description"`
}

// readToken parses a response in JSON, or in the older form encoding that some hosts use.
func readToken(resp *http.Response) (tokenAnswer, error) {
	var answer tokenAnswer
	body, err := limits.ReadAll(resp.Body, 1<<20, "the answer")
	if err != nil {
		return answer, err
	}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		return tokenAnswer{form.Get("access_token"), form.Get("error"), form.Get("error_description")}, err
	}
	return answer, json.Unmarshal(body, &answer)
}
