package azuretest

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"tofu/internal/testenv/hosts"
)

// Identities that the servers accept.
const (
	Account      = "devstoreaccount1"
	Tenant       = "72f988bf-86f1-41af-91ab-2d7cd011db47"
	ClientID     = "11111111-2222-3333-4444-555555555555"
	Secret       = "hunter2"
	Subscription = "99999999-8888-7777-6666-555555555555"
	Group        = "states"
	OIDCToken    = "token-of-the-platform"
	RequestToken = "request-token"
	MetadataHost = "metadata.azure.example"
	RequestHost  = "oidc.azure.example"
)

// Server is a tenant with a storage account, an identity and key vaults.
type Server struct {
	hosts.Recorder

	accessKey string
	blobs     http.Handler
	secret    []byte            // signs access tokens
	certHash  [32]byte          // SHA-256 of the service principal's certificate
	certKey   *rsa.PublicKey    // public key of the service principal's certificate
	vaults    map[string]*vault // by host name
	mu        sync.Mutex
}

// New returns a server. account is the URL of a storage emulator, including the name and the access
// key of the storage account as user and password. It is nil if no test uses the storage account.
func New(account *url.URL) *Server {
	s := &Server{secret: []byte(rand.Text()), vaults: make(map[string]*vault)}
	if account != nil {
		s.accessKey, _ = account.User.Password()
		s.blobs = hosts.Forward(&url.URL{Scheme: account.Scheme, Host: account.Host})
	}
	return s
}

// Hosts returns the handlers of the server by host, for hosts.New.
func (s *Server) Hosts() map[string]http.Handler {
	out := map[string]http.Handler{
		"login.microsoftonline.com": http.HandlerFunc(s.login),
		"management.azure.com":      http.HandlerFunc(s.management),
		"169.254.169.254":           http.HandlerFunc(s.identity),
		MetadataHost:                http.HandlerFunc(s.metadata),
		RequestHost:                 http.HandlerFunc(s.platform),
		"*.vault.azure.net":         http.HandlerFunc(s.vault),
		"*.managedhsm.azure.net":    http.HandlerFunc(s.vault),
	}
	if s.blobs != nil {
		out["*.blob.core.windows.net"] = s.blobs
	}
	return s.Watch(out, requestLine)
}

// requestLine describes a request by its method, host, path and comp parameter.
func requestLine(r *http.Request) string {
	line := r.Method + " " + r.Host + r.URL.Path
	if comp := r.URL.Query().Get("comp"); comp != "" {
		line += "?comp=" + comp
	}
	return line
}

// Blobs passes a request to the storage account. Functions passed to Intercept may call it.
func (s *Server) Blobs(w http.ResponseWriter, r *http.Request) { s.blobs.ServeHTTP(w, r) }

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// Token returns an access token for a resource, such as "https://vault.azure.net".
func (s *Server) Token(resource string) string {
	now := time.Now().Unix()
	part := func(v any) string {
		text, _ := json.Marshal(v)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	body := part(map[string]any{"alg": "HS256", "typ": "JWT"}) + "." + part(map[string]any{
		"aud": resource, "iss": "https://sts.windows.net/" + Tenant + "/", "iat": now, "nbf": now, "exp": now + 3600,
		"appid": ClientID, "tid": Tenant, "ver": "1.0",
	})
	return body + "." + base64.RawURLEncoding.EncodeToString(s.mac(body))
}

func (s *Server) mac(text string) []byte {
	mac := hmac.New(sha256.New, s.secret)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// checkToken returns the reason why a request's token is not valid for a resource, or "" if it is
// valid.
func (s *Server) checkToken(r *http.Request, resource string) string {
	text, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	parts := strings.Split(text, ".")
	if !ok || len(parts) != 3 {
		return "no bearer token"
	}
	given, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || !hmac.Equal(given, s.mac(parts[0]+"."+parts[1])) {
		return "wrong signature"
	}
	var claims struct {
		Aud string
		Exp int64
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &claims) != nil {
		return "damaged token"
	}
	if strings.TrimSuffix(claims.Aud, "/") != strings.TrimSuffix(resource, "/") || time.Now().Unix() > claims.Exp {
		return fmt.Sprintf("token is for %s until %d, not for %s", claims.Aud, claims.Exp, resource)
	}
	return ""
}

// SetCertificate sets the certificate of the service principal.
func (s *Server) SetCertificate(cert *x509.Certificate) {
	s.certHash, s.certKey = sha256.Sum256(cert.Raw), cert.PublicKey.(*rsa.PublicKey)
}
