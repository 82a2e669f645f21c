// Package osstest serves Object Storage Service and Tablestore of Alibaba Cloud, with the services
// for roles and for information about an instance, in memory. It checks signatures as described in
// the documentation of these services. It is for tests only. Package testenv/hosts passes requests
// for the services' hosts to it.
//
// Invariants: a request without a valid signature of a known access key changes nothing; a row is
// written only if its condition holds; a row with a wrong checksum is refused.
package osstest

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"tofu/internal/restapi"
	"tofu/internal/testenv/buckettest"
)

// Server is a test server with one bucket and one table.
type Server struct {
	Bucket, Table, Region string
	// Keys maps IDs of access keys to their secrets.
	Keys map[string]string
	// Tokens maps IDs of temporary access keys to their tokens.
	Tokens map[string]string
	// Drop reports whether the response to a request is lost after the request was carried out. It
	// may be nil.
	Drop func(r *http.Request) bool

	mu       sync.Mutex
	bucket   *buckettest.Bucket
	rows     map[string]map[string]string
	requests []string
}

// New returns an empty server in the region cn-beijing, with the access key "LTAItest" and the
// secret "s3cret".
func New(bucket, table string) *Server {
	return &Server{Bucket: bucket, Table: table, Region: "cn-beijing", Keys: map[string]string{"LTAItest": "s3cret"},
		Tokens: make(map[string]string), rows: make(map[string]map[string]string),
		bucket: &buckettest.Bucket{Keeps: keeps, OnlyNew: "X-Oss-Forbid-Overwrite", Complete: addChecksum}}
}

func keeps(header string) bool {
	return header == "X-Oss-Object-Acl" || header == "X-Oss-Server-Side-Encryption" || header == "Content-Type"
}

func addChecksum(o *buckettest.Object) {
	sum := md5.Sum(o.Data)
	o.Header.Set("Content-Md5", base64.StdEncoding.EncodeToString(sum[:]))
	o.ETag = fmt.Sprintf(`"%X"`, sum)
}

// Hosts returns the handlers for hosts.New.
func (s *Server) Hosts() map[string]http.Handler {
	return map[string]http.Handler{"*.aliyuncs.com": s, "100.100.100.200": s}
}

// Objects returns the objects by key.
func (s *Server) Objects() map[string]buckettest.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bucket.Objects()
}

// Rows returns the columns of each row by the row's key.
func (s *Server) Rows() map[string]map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.rows)
}

// Requests returns the methods, hosts and paths of all requests so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.Host+r.URL.Path)
	var answer func()
	switch {
	case r.Host == "sts.aliyuncs.com":
		answer = s.assume(w, r)
	case r.Host == "100.100.100.200":
		answer = s.metadata(w, r)
	case r.Header.Get("X-Ots-Accesskeyid") != "":
		answer = s.tableService(w, r, body)
	default:
		answer = s.storage(w, r, body)
	}
	if s.Drop != nil && s.Drop(r) {
		panic(http.ErrAbortHandler)
	}
	answer()
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func (s *Server) storage(w http.ResponseWriter, r *http.Request, body []byte) func() {
	if !strings.HasPrefix(r.Host, s.Bucket+".oss-"+s.Region) {
		return buckettest.Refuse(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist.")
	}
	if code := s.checkObjectSignature(r); code != "" {
		return buckettest.Refuse(w, http.StatusForbidden, code, "The request is refused.")
	}
	if want := r.Header.Get("Content-Md5"); want != "" {
		if sum := md5.Sum(body); base64.StdEncoding.EncodeToString(sum[:]) != want {
			return buckettest.Refuse(w, http.StatusBadRequest, "InvalidDigest", "The Content-MD5 is wrong.")
		}
	}
	return s.bucket.Carry(w, r, strings.TrimPrefix(r.URL.Path, "/"), body)
}

// lines returns the headers with one of the prefixes, one per line, sorted.
func lines(header http.Header, prefixes ...string) string {
	var out []string
	for name, values := range header {
		for _, prefix := range prefixes {
			if strings.HasPrefix(strings.ToLower(name), prefix) && strings.ToLower(name) != "x-ots-signature" {
				out = append(out, strings.ToLower(name)+":"+strings.TrimSpace(values[0])+"\n")
			}
		}
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

// checkObjectSignature returns the error code for a request to the storage, or "" if its signature
// is valid.
func (s *Server) checkObjectSignature(r *http.Request) string {
	const skew = 15 * time.Minute
	at, err := http.ParseTime(r.Header.Get("Date"))
	if err != nil || time.Since(at).Abs() > skew {
		return "RequestTimeTooSkewed"
	}
	auth := r.Header.Get("Authorization")
	check := s.checkVersion4
	rest, ok := strings.CutPrefix(auth, "OSS4-HMAC-SHA256 Credential=")
	if !ok {
		rest, ok = strings.CutPrefix(auth, "OSS ")
		if !ok {
			return "AccessDenied"
		}
		check = s.checkVersion1
	}
	id := rest[:strings.IndexAny(rest+":", ":/")]
	secret, ok := s.Keys[id]
	switch {
	case !ok:
		return "InvalidAccessKeyId"
	case s.Tokens[id] != r.Header.Get("X-Oss-Security-Token"):
		return "InvalidSecurityToken"
	case !check(r, rest[len(id)+1:], secret):
		return "SignatureDoesNotMatch"
	}
	return ""
}

// signedParameters are the query parameters that version 1 of the signatures includes.
var signedParameters = []string{"acl", "location", "bucketInfo", "objectMeta", "versionId"}

func (s *Server) checkVersion1(r *http.Request, signature, secret string) bool {
	resource, separator := "/"+s.Bucket+r.URL.Path, "?"
	for _, name := range signedParameters {
		if r.URL.Query().Has(name) {
			resource += separator + name
			separator = "&"
		}
	}
	text := strings.Join([]string{r.Method, r.Header.Get("Content-Md5"), r.Header.Get("Content-Type"),
		r.Header.Get("Date"),
		lines(r.Header, "x-oss-") + resource}, "\n")
	return base64Of(restapi.HMAC(sha1.New, secret, text)) == signature
}

func (s *Server) checkVersion4(r *http.Request, rest, secret string) bool {
	scope, signature, _ := strings.Cut(rest, ",Signature=")
	date := r.Header.Get("X-Oss-Date")
	if len(date) != len("20060102T150405Z") || scope != date[:8]+"/"+s.Region+"/oss/aliyun_v4_request" {
		return false
	}
	var query []string
	for name, values := range r.URL.Query() {
		if values[0] == "" {
			query = append(query, restapi.Escape(name))
		} else {
			query = append(query, restapi.Escape(name)+"="+restapi.Escape(values[0]))
		}
	}
	slices.Sort(query)
	path := strings.ReplaceAll(restapi.Escape("/"+s.Bucket+r.URL.Path), "%2F", "/")
	canonical := strings.Join([]string{r.Method, path, strings.Join(query, "&"),
		lines(r.Header, "x-oss-", "content-type", "content-md5"), "", r.Header.Get("X-Oss-Content-Sha256")}, "\n")
	sum := sha256.Sum256([]byte(canonical))
	text := "OSS4-HMAC-SHA256\n" + date + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := restapi.HMAC(sha256.New,
		restapi.HMAC(sha256.New, restapi.HMAC(sha256.New, "aliyun_v4"+secret, date[:8]), s.Region), "oss")
	return hex.EncodeToString([]byte(restapi.HMAC(sha256.New, restapi.HMAC(sha256.New, key, "aliyun_v4_request"),
		text))) == signature
}

// assume responds to a call of the role service. The only role that can be assumed is "allowed".
func (s *Server) assume(w http.ResponseWriter, r *http.Request) func() {
	refuse := func(status int, code string) func() {
		return func() {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"Code":%q,"Message":"refused"}`, code)
		}
	}
	_ = r.ParseForm()
	var pairs []string
	for name, values := range r.URL.Query() {
		if name != "Signature" {
			pairs = append(pairs, restapi.Escape(name)+"="+restapi.Escape(values[0]))
		}
	}
	slices.Sort(pairs)
	q := r.URL.Query()
	secret, ok := s.Keys[q.Get("AccessKeyId")]
	text := r.Method + "&%2F&" + restapi.Escape(strings.Join(pairs, "&"))
	switch {
	case !ok:
		return refuse(http.StatusNotFound, "InvalidAccessKeyId.NotFound")
	case base64Of(restapi.HMAC(sha1.New, secret+"&", text)) != q.Get("Signature"):
		return refuse(http.StatusBadRequest, "SignatureDoesNotMatch")
	case q.Get("Action") != "AssumeRole" || !strings.HasSuffix(q.Get("RoleArn"), "/allowed"):
		return refuse(http.StatusNotFound, "EntityNotExist.Role")
	}
	return func() { _, _ = fmt.Fprintf(w, `{"Credentials":%s}`, s.issue(q.Get("RoleSessionName"))) }
}

// issue returns a new temporary access key.
func (s *Server) issue(name string) string {
	id := "STS." + name
	s.Keys[id], s.Tokens[id] = "temporary", "token of "+name
	return fmt.Sprintf(`{"AccessKeyId":%q,"AccessKeySecret":"temporary","SecurityToken":%q,"Expiration":%q,`+
		`"Code":"Success"}`,
		id, s.Tokens[id], time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

// metadata answers like the metadata service of an instance with the role "instance".
func (s *Server) metadata(w http.ResponseWriter, r *http.Request) func() {
	const token = "of the session"
	switch {
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
		return func() { _, _ = io.WriteString(w, token) }
	case r.URL.Path == "/latest/meta-data/ram/security-credentials/instance" &&
		r.Header.Get("X-Aliyun-Ecs-Metadata-Token") == token:
		key := s.issue("instance")
		return func() { _, _ = io.WriteString(w, key) }
	}
	return func() { w.WriteHeader(http.StatusNotFound) }
}
