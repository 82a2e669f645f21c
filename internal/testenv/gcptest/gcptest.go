package gcptest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"

	"tofu/internal/testenv/hosts"
)

// Identities that the servers accept.
const (
	Account      = "states@project.iam.gserviceaccount.com" // a service account
	Impersonated = "writer@project.iam.gserviceaccount.com" // a service account that Account may impersonate
	RefreshToken = "refresh-token"                          // the refresh token of a user
	Key          = "projects/p/locations/global/keyRings/r/cryptoKeys/k"
)

// Server is a project with a bucket service, accounts and a key.
type Server struct {
	hosts.Recorder

	storage http.Handler
	account *rsa.PrivateKey // key of the service account
	kms     *kms
	grpc    *grpc.Server

	mu     sync.Mutex
	tokens map[string][]string // scopes by access token
}

// New returns a server. storage is the URL of an emulator of the bucket service. It is nil if no
// test uses buckets.
func New(storage *url.URL) (*Server, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	s := &Server{account: key, tokens: make(map[string][]string), kms: newKMS()}
	s.grpc = s.newGRPC()
	if storage != nil {
		s.storage = hosts.Forward(storage)
	}
	return s, nil
}

// Hosts returns the handlers of the server by host, for hosts.New.
func (s *Server) Hosts() map[string]http.Handler {
	out := map[string]http.Handler{
		"oauth2.googleapis.com":         http.HandlerFunc(s.oauth2),
		"iamcredentials.googleapis.com": http.HandlerFunc(s.iam),
		"cloudkms.googleapis.com":       http.HandlerFunc(s.cloudKMS),
		"metadata.google.internal":      http.HandlerFunc(s.metadata),
	}
	if s.storage != nil {
		storage := http.HandlerFunc(s.buckets)
		out["storage.googleapis.com"], out["storage-states.p.googleapis.com"] = storage, storage
	}
	return s.Watch(out, requestLine)
}

// requestLine returns the method and path of a request.
func requestLine(r *http.Request) string { return r.Method + " " + r.URL.EscapedPath() }

// Storage passes a request to the bucket service. Functions passed to Intercept may call it.
func (s *Server) Storage(w http.ResponseWriter, r *http.Request) { s.storage.ServeHTTP(w, r) }

// Token returns an access token that has the given scopes.
func (s *Server) Token(scopes ...string) string {
	token := "ya29." + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[token] = scopes
	return token
}

const (
	scopeCloud   = "https://www.googleapis.com/auth/cloud-platform"
	scopeStorage = "https://www.googleapis.com/auth/devstorage.read_write"
	scopeKMS     = "https://www.googleapis.com/auth/cloudkms"
)

// permits reports whether an Authorization header contains a token with the given scope, or with
// the scope that covers all services.
func (s *Server) permits(authorization, scope string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	scopes := s.tokens[strings.TrimPrefix(authorization, "Bearer ")]
	return slices.Contains(scopes, scope) || slices.Contains(scopes, scopeCloud) ||
		slices.Contains(scopes, "https://www.googleapis.com/auth/devstorage.full_control") && scope == scopeStorage
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func refuse(w http.ResponseWriter, status int, message string) {
	answer(w, status, map[string]any{"error": map[string]any{"code": status, "message": message,
		"status": http.StatusText(status)}})
}

// AccountFile returns the JSON file of the service account.
func (s *Server) AccountFile() ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(s.account)
	if err != nil {
		return nil, err
	}
	return json.Marshal(map[string]string{"type": "service_account", "project_id": "project", "private_key_id": "1",
		"private_key":  string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"client_email": Account, "client_id": "1", "token_uri": "https://oauth2.googleapis.com/token"})
}

// UserFile returns the JSON file that the gcloud command writes after a user logs in.
func (s *Server) UserFile(refreshToken string) []byte {
	text, _ := json.Marshal(map[string]string{"type": "authorized_user", "client_id": "1", "client_secret": "secret",
		"refresh_token": refreshToken})
	return text
}

// oauth2 responds to token requests of service accounts and users.
func (s *Server) oauth2(w http.ResponseWriter, r *http.Request) {
	grant := func(scopes ...string) {
		answer(w, http.StatusOK,
			map[string]any{"access_token": s.Token(scopes...), "expires_in": 3599, "token_type": "Bearer"})
	}
	switch {
	case r.FormValue("grant_type") == "refresh_token" && r.FormValue("refresh_token") == RefreshToken:
		grant(scopeCloud)
	case r.FormValue("grant_type") == "urn:ietf:params:oauth:grant-type:jwt-bearer":
		if scopes, ok := s.checkAssertion(r.FormValue("assertion")); ok {
			grant(scopes...)
			return
		}
		fallthrough
	default:
		answer(w, http.StatusBadRequest,
			map[string]string{"error": "invalid_grant", "error_description": "Token has been expired or revoked."})
	}
}

// checkAssertion checks the signature and the claims of an assertion of the service account, and
// returns the requested scopes. It returns false if the assertion is invalid.
func (s *Server) checkAssertion(text string) ([]string, bool) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return nil, false
	}
	var claims struct {
		Iss, Scope, Aud string
		Exp             int64
	}
	body, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(body, &claims) != nil {
		return nil, false
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	valid := err == nil && rsa.VerifyPKCS1v15(&s.account.PublicKey, crypto.SHA256, digest[:], signature) == nil
	return strings.Fields(claims.Scope), valid && claims.Iss == Account && claims.Exp > time.Now().Unix() &&
		claims.Aud == "https://oauth2.googleapis.com/token"
}

// iam issues tokens of the impersonated service account.
func (s *Server) iam(w http.ResponseWriter, r *http.Request) {
	var q struct{ Scope, Delegates []string }
	err := json.NewDecoder(r.Body).Decode(&q)
	switch {
	case !s.permits(r.Header.Get("Authorization"), scopeCloud):
		refuse(w, http.StatusUnauthorized, "Request had invalid authentication credentials.")
	case err != nil || r.URL.Path != "/v1/projects/-/serviceAccounts/"+Impersonated+":generateAccessToken":
		refuse(w, http.StatusForbidden,
			"Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist).")
	case slices.ContainsFunc(q.Delegates, isInvalidDelegate):
		refuse(w, http.StatusBadRequest, "Invalid form of delegate.")
	default:
		answer(w, http.StatusOK, map[string]string{"accessToken": s.Token(q.Scope...),
			"expireTime": time.Now().Add(time.Hour).UTC().Format(time.RFC3339)})
	}
}

// isInvalidDelegate reports whether a delegate is not the resource name of a service account.
func isInvalidDelegate(name string) bool {
	return !strings.HasPrefix(name, "projects/-/serviceAccounts/")
}

// metadata acts as the metadata server of a virtual machine.
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Metadata-Flavor", "Google")
	switch {
	case r.Header.Get("Metadata-Flavor") != "Google":
		w.WriteHeader(http.StatusForbidden)
	case strings.HasSuffix(r.URL.Path, "/service-accounts/default/token"):
		answer(w, http.StatusOK, map[string]any{
			"access_token": s.Token(strings.Split(r.URL.Query().Get("scopes"), ",")...),
			"expires_in":   3599, "token_type": "Bearer"})
	case strings.HasSuffix(r.URL.Path, "/project-id"):
		_, _ = w.Write([]byte("project"))
	case strings.HasSuffix(r.URL.Path, "/universe-domain"):
		_, _ = w.Write([]byte("googleapis.com"))
	}
}

// buckets checks the token of a request and passes it to the bucket service.
func (s *Server) buckets(w http.ResponseWriter, r *http.Request) {
	if !s.permits(r.Header.Get("Authorization"), scopeStorage) {
		refuse(w, http.StatusUnauthorized, "Invalid Credentials")
		return
	}
	r.Host = "storage.googleapis.com"
	s.storage.ServeHTTP(w, r)
}
