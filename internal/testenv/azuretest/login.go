package azuretest

import (
	"bytes"
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// login acts as Microsoft Entra ID.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	base := "https://" + r.Host + "/" + strings.Split(r.URL.Path, "/")[1]
	switch {
	case strings.HasSuffix(r.URL.Path, "/discovery/instance"):
		answer(w, http.StatusOK, map[string]any{"api-version": "1.1",
			"tenant_discovery_endpoint": base + "/v2.0/.well-known/openid-configuration",
			"metadata": []any{map[string]any{"preferred_network": r.Host, "preferred_cache": r.Host,
				"aliases": []string{r.Host}}}})
	case strings.HasSuffix(r.URL.Path, "/openid-configuration"):
		answer(w, http.StatusOK, map[string]any{"issuer": base + "/v2.0",
			"token_endpoint": base + "/oauth2/v2.0/token", "authorization_endpoint": base + "/oauth2/v2.0/authorize"})
	case strings.HasSuffix(r.URL.Path, "/oauth2/v2.0/token"):
		s.grant(w, r)
	default:
		http.NotFound(w, r)
	}
}

// grant responds to a request for a token.
func (s *Server) grant(w http.ResponseWriter, r *http.Request) {
	refuse := func(id, text string) {
		answer(w, http.StatusUnauthorized,
			map[string]any{"error": id, "error_description": text + " Trace ID: 1\r\nmore"})
	}
	resource, ok := strings.CutSuffix(strings.Fields(r.FormValue("scope") + " ")[0], "/.default")
	tenant := strings.Split(r.URL.Path, "/")[1]
	assertion := r.FormValue("client_assertion")
	switch {
	case tenant != Tenant:
		refuse("invalid_request", "AADSTS90002: Tenant '"+tenant+"' not found.")
	case r.FormValue("client_id") != ClientID:
		refuse("unauthorized_client", "AADSTS700016: Application with identifier '"+r.FormValue("client_id")+
			"' was not found in the directory.")
	case !ok || r.FormValue("grant_type") != "client_credentials":
		refuse("invalid_scope", "AADSTS1002012: The provided value for scope is not valid.")
	case assertion == "" && r.FormValue("client_secret") != Secret:
		refuse("invalid_client", "AADSTS7000215: Invalid client secret provided.")
	case assertion != "" && assertion != OIDCToken && !s.checkAssertion(assertion, "https://"+r.Host+r.URL.Path):
		refuse("invalid_client",
			"AADSTS700027: The certificate with identifier used to sign the client assertion is not registered.")
	default:
		answer(w, http.StatusOK,
			map[string]any{"token_type": "Bearer", "expires_in": 3599, "access_token": s.Token(resource)})
	}
}

// checkAssertion reports whether a client assertion is valid: it must be signed with the service
// principal's certificate and meant for the audience.
func (s *Server) checkAssertion(text, audience string) bool {
	parts := strings.Split(text, ".")
	if len(parts) != 3 || s.certKey == nil {
		return false
	}
	decode := func(part string, into any) bool {
		data, err := base64.RawURLEncoding.DecodeString(part)
		return err == nil && json.Unmarshal(data, into) == nil
	}
	var header struct {
		Alg  string `json:"alg"`
		Hash string `json:"x5t#S256"`
	}
	var claims struct {
		Aud, Sub, Iss string
		Exp           int64
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !decode(parts[0], &header) || !decode(parts[1], &claims) {
		return false
	}
	hash, err := base64.StdEncoding.DecodeString(header.Hash) // Microsoft's libraries use this encoding
	if err != nil || !bytes.Equal(hash, s.certHash[:]) || claims.Aud != audience || claims.Sub != ClientID ||
		claims.Iss != ClientID || time.Now().Unix() > claims.Exp {
		return false
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if header.Alg == "PS256" {
		return rsa.VerifyPSS(s.certKey, crypto.SHA256, digest[:], signature, nil) == nil
	}
	return header.Alg == "RS256" && rsa.VerifyPKCS1v15(s.certKey, crypto.SHA256, digest[:], signature) == nil
}

// management acts as Azure Resource Manager.
func (s *Server) management(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, id, text string) {
		answer(w, status, map[string]any{"error": map[string]string{"code": id, "message": text}})
	}
	const listKeys = "POST /subscriptions/" + Subscription + "/resourceGroups/" + Group +
		"/providers/Microsoft.Storage/storageAccounts/" + Account + "/listKeys"
	problem := s.checkToken(r, "https://management.core.windows.net/")
	switch {
	case problem != "":
		refuse(http.StatusUnauthorized, "InvalidAuthenticationToken", problem)
	case r.Method+" "+r.URL.Path != listKeys:
		refuse(http.StatusNotFound, "ResourceNotFound", "The Resource "+r.URL.Path+" was not found.")
	default:
		answer(w, http.StatusOK, map[string]any{"keys": []any{
			map[string]string{"keyName": "key1", "value": s.accessKey, "permissions": "FULL"}}})
	}
}

// identity acts as the managed identity service of a virtual machine.
func (s *Server) identity(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	id := query.Get("client_id")
	switch {
	case r.Header.Get("Metadata") != "true" || r.URL.Path != "/metadata/identity/oauth2/token":
		answer(w, http.StatusBadRequest,
			map[string]string{"error": "bad_request_102", "error_description": "Required metadata header is missing"})
	case id != "" && id != ClientID:
		answer(w, http.StatusBadRequest,
			map[string]string{"error": "invalid_request", "error_description": "Identity not found"})
	default:
		answer(w, http.StatusOK, map[string]string{
			"access_token": s.Token(query.Get("resource")), "token_type": "Bearer",
			"expires_in": "3599", "expires_on": "4102444800", "resource": query.Get("resource")})
	}
}

// metadata describes the public cloud.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/metadata/endpoints" {
		http.NotFound(w, r)
		return
	}
	answer(w, http.StatusOK, []any{map[string]any{
		"name": "AzureCloud", "resourceManager": "https://management.azure.com/",
		"authentication": map[string]any{"loginEndpoint": "https://login.microsoftonline.com",
			"audiences": []string{"https://management.core.windows.net/", "https://management.azure.com/"},
			"tenant":    "common", "identityProvider": "AAD"},
		"suffixes": map[string]string{"storage": "core.windows.net", "keyVaultDns": "vault.azure.net"},
	}})
}

// platform issues ID tokens. It acts as GitHub Actions, and as Azure Pipelines with the service
// connection "conn".
func (s *Server) platform(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	switch {
	case r.Header.Get("Authorization") != "Bearer "+RequestToken:
		answer(w, http.StatusUnauthorized, map[string]string{})
	case r.Method == http.MethodGet && query.Get("audience") == "api://AzureADTokenExchange":
		answer(w, http.StatusOK, map[string]string{"value": OIDCToken})
	case r.Method == http.MethodPost && query.Get("serviceConnectionId") == "conn" && query.Has("api-version"):
		answer(w, http.StatusOK, map[string]string{"oidcToken": OIDCToken})
	default:
		answer(w, http.StatusBadRequest, map[string]string{})
	}
}
