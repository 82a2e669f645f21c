package registry

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestLoginService checks which descriptions of login services are accepted.
func TestLoginService(t *testing.T) {
	good := map[string]any{"client": "cli", "authz": "/authz?x=1", "token": "/token", "ports": []int{10000, 10010},
		"scopes": []string{"a", "b"}}
	for name, c := range map[string]struct {
		change map[string]any // changes to keys of the description; nil removes a key
		whole  any            // replacement for the whole description
		want   string         // part of the expected error; "" if the description is accepted
	}{
		"good":            {},
		"any port":        {change: map[string]any{"ports": nil}},
		"no scopes":       {change: map[string]any{"scopes": "all"}},
		"several grants":  {change: map[string]any{"grant_types": []string{"password", "authz_code"}}},
		"other grants":    {change: map[string]any{"grant_types": []string{"password"}}, want: "authz_code"},
		"no client":       {change: map[string]any{"client": nil}, want: "client"},
		"no page":         {change: map[string]any{"authz": nil}, want: "authz"},
		"page with user":  {change: map[string]any{"authz": "https://me:x@example.com/"}, want: "authz"},
		"token by ftp":    {change: map[string]any{"token": "ftp://x/"}, want: "token"},
		"one port":        {change: map[string]any{"ports": []int{10000}}, want: "ports"},
		"no ports":        {change: map[string]any{"ports": []int{}}, want: "ports"},
		"low ports":       {change: map[string]any{"ports": []int{80, 90}}, want: "ports"},
		"high ports":      {change: map[string]any{"ports": []int{65530, 65536}}, want: "ports"},
		"ports backwards": {change: map[string]any{"ports": []int{10010, 10000}}, want: "ports"},
		"strange ports":   {change: map[string]any{"ports": []string{"http"}}, want: `wrong type for "ports": string`},
		"no object":       {whole: "yes", want: "not described by a JSON object"},
		"strange scope":   {change: map[string]any{"scopes": []int{1}}, want: "not a string"},
	} {
		t.Run(name, func(t *testing.T) {
			service := maps.Clone(good)
			for key, value := range c.change {
				service[key] = value
				if value == nil {
					delete(service, key)
				}
			}
			whole := any(service)
			if c.whole != nil {
				whole = c.whole
			}
			u, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(map[string]any{"login.v1": whole})
			})
			l, err := client.Login(t.Context(), u.Host)
			if c.want != "" {
				if err == nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%+v, %v", l, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			page := l.AuthzURL("state", "challenge", "http://localhost:10000/login")
			if !strings.HasPrefix(page, "https://"+u.Host+"/authz?") || !strings.Contains(page, "x=1") ||
				strings.Contains(page, "scope=a+b") != (len(l.Scopes) == 2) {
				t.Errorf("the page is %s", page)
			}
		})
	}
}

// TestExchange checks the results of exchanging a code for a token.
func TestExchange(t *testing.T) {
	const form = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		status     int
		kind, body string
		want       string // part of the expected error; "" if the token is s3cret
	}{
		"JSON": {200, "application/json",
			`{"access_token": "s3cret", "token_type": "bearer", "expires_in": "never"}`, ""},
		"created":    {201, "application/json", `{"access_token": "s3cret"}`, ""},
		"plain text": {200, "text/plain", `{"access_token": "s3cret"}`, ""},
		"form":       {200, form, "access_token=s3cret&token_type=bearer", ""},
		"no token":   {200, "application/json", `{}`, "no token"},
		"page":       {200, "text/html", `<html>`, "is invalid"},
		"number":     {200, "application/json", `{"access_token": 5}`, "is invalid"},
		"refused": {400, "application/json", `{"error": "invalid_grant", "error_description": "too late"}`,
			"invalid_grant too late"},
		"form, error": {200, form, "error=bad_verification_code", "bad_verification_code"},
		"broken":      {500, "text/plain", `oops`, "status 500"},
	} {
		t.Run(name, func(t *testing.T) {
			var got url.Values
			u, client := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if err := r.ParseForm(); err == nil {
					got = r.PostForm
				}
				w.Header().Set("Content-Type", c.kind)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(c.body))
			})
			token, err := client.Exchange(t.Context(), &Login{Client: "cli", Token: u}, "code", "verifier",
				"http://localhost:1/login")
			if c.want == "" && (err != nil || token != "s3cret") ||
				c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%q, %v", token, err)
			}
			want := url.Values{"grant_type": {"authorization_code"}, "client_id": {"cli"}, "code": {"code"},
				"code_verifier": {"verifier"},
				"redirect_uri":  {"http://localhost:1/login"}}
			if got.Encode() != want.Encode() {
				t.Errorf("asked with %v", got)
			}
		})
	}
}
