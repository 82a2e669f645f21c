// Package costest serves the object storage of Tencent Cloud with the services for tags and for
// assuming roles, in memory. It checks signatures as described in the documentation of these
// services. It is for tests only. Tests reach it through a proxy of package hosts.
//
// Invariants: a request without a valid signature of a known access key changes nothing; an object
// is replaced whole; a tag can't be created twice.
package costest

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/crc64"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tofu/internal/restapi"
	"tofu/internal/testenv/buckettest"
)

// Server is a test server with one bucket.
type Server struct {
	Bucket string
	// Keys maps IDs of access keys to their secrets.
	Keys map[string]string
	// Tokens maps IDs of temporary access keys to their tokens.
	Tokens map[string]string
	// Drop, if not nil, reports whether the response to a request is lost after the request was
	// carried out.
	Drop func(r *http.Request) bool

	mu       sync.Mutex
	bucket   *buckettest.Bucket
	tags     map[string]bool
	requests []string
}

// New returns an empty server with the access key "AKIDtest" and the secret "s3cret".
func New(bucket string) *Server {
	return &Server{Bucket: bucket, Keys: map[string]string{"AKIDtest": "s3cret"}, Tokens: make(map[string]string),
		bucket: &buckettest.Bucket{Keeps: keeps, OnlyNew: "X-Cos-Forbid-Overwrite", Complete: addChecksum},
		tags:   make(map[string]bool)}
}

func keeps(header string) bool {
	return strings.HasPrefix(header, "X-Cos-Meta-") || header == "X-Cos-Acl" || header == "X-Cos-Server-Side-Encryption"
}

func addChecksum(o *buckettest.Object) {
	crc := crc64.Checksum(o.Data, crc64.MakeTable(crc64.ECMA))
	o.Header.Set("X-Cos-Hash-Crc64ecma", strconv.FormatUint(crc, 10))
}

// Hosts returns the services' handlers by host name, for hosts.New.
func (s *Server) Hosts() map[string]http.Handler {
	return map[string]http.Handler{"*.myqcloud.com": s, "*.tencentcloudapi.com": s}
}

// Objects returns the objects by key.
func (s *Server) Objects() map[string]buckettest.Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bucket.Objects()
}

// Tags returns the number of tags.
func (s *Server) Tags() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tags)
}

// SetTag creates a tag, like a process that is killed before it removes the tag.
func (s *Server) SetTag(key, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tags[key+"="+value] = true
}

// Requests returns the methods, hosts, paths and actions of all requests so far.
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
	s.requests = append(s.requests, strings.TrimSpace(r.Method+" "+r.Host+r.URL.Path+" "+r.Header.Get("X-Tc-Action")))
	service, isService := strings.CutSuffix(r.Host, ".tencentcloudapi.com")
	var answer func()
	if isService {
		text := s.service(r, service, body)
		answer = func() { _, _ = io.WriteString(w, `{"Response":`+text+`}`) }
	} else {
		answer = s.storage(w, r, body)
	}
	if s.Drop != nil && s.Drop(r) {
		panic(http.ErrAbortHandler)
	}
	answer()
}

func hexOf(text string) string { return hex.EncodeToString([]byte(text)) }

func (s *Server) storage(w http.ResponseWriter, r *http.Request, body []byte) func() {
	if !strings.HasPrefix(r.Host, s.Bucket+".cos.") {
		return buckettest.Refuse(w, http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist.")
	}
	if code := s.checkObjectSignature(r); code != "" {
		return buckettest.Refuse(w, http.StatusForbidden, code, "The request is refused.")
	}
	return s.bucket.Carry(w, r, strings.TrimPrefix(r.URL.Path, "/"), body)
}

// checkObjectSignature returns the error code for a request to the storage, or "" if its signature
// is valid.
func (s *Server) checkObjectSignature(r *http.Request) string {
	given := make(map[string]string)
	for part := range strings.SplitSeq(r.Header.Get("Authorization"), "&") {
		name, value, _ := strings.Cut(part, "=")
		given[name] = value
	}
	secret, ok := s.Keys[given["q-ak"]]
	switch {
	case given["q-signature"] == "":
		return "AccessDenied"
	case !ok:
		return "InvalidAccessKeyId"
	case s.Tokens[given["q-ak"]] != r.Header.Get("X-Cos-Security-Token"):
		return "InvalidSecurityToken"
	}
	from, to, _ := strings.Cut(given["q-sign-time"], ";")
	if start, end := seconds(from), seconds(to); time.Now().Before(start) || time.Now().After(end) {
		return "RequestIsExpired"
	}
	pairs := func(list string, value func(name string) string) string {
		var out []string
		for name := range strings.SplitSeq(list, ";") {
			if name != "" {
				out = append(out, name+"="+restapi.Escape(value(name)))
			}
		}
		return strings.Join(out, "&")
	}
	headers := pairs(given["q-header-list"], func(name string) string {
		if name == "host" {
			return r.Host
		}
		return r.Header.Get(name)
	})
	params := pairs(given["q-url-param-list"], func(name string) string { return r.URL.Query().Get(name) })
	sum := sha1.Sum([]byte(strings.ToLower(r.Method) + "\n" + r.URL.Path + "\n" + params + "\n" + headers + "\n"))
	text := "sha1\n" + given["q-sign-time"] + "\n" + hex.EncodeToString(sum[:]) + "\n"
	if hexOf(restapi.HMAC(sha1.New, hexOf(restapi.HMAC(sha1.New, secret, given["q-key-time"])), text)) !=
		given["q-signature"] {
		return "SignatureDoesNotMatch"
	}
	return ""
}

func seconds(text string) time.Time {
	n, _ := strconv.ParseInt(text, 10, 64)
	return time.Unix(n, 0)
}

func failed(code string) string {
	return `{"Error":{"Code":"` + code + `","Message":"refused"},"RequestId":"1"}`
}

// service answers a request for an action of the tag service or the role service.
func (s *Server) service(r *http.Request, service string, body []byte) string {
	if !s.checkServiceSignature(r, service, body) {
		return failed("AuthFailure.SignatureFailure")
	}
	var in struct{ TagKey, TagValue, RoleArn, RoleSessionName string }
	if err := json.Unmarshal(body, &in); err != nil {
		return failed("InvalidParameter")
	}
	tag := in.TagKey + "=" + in.TagValue
	switch action := r.Header.Get("X-Tc-Action"); {
	case action == "CreateTag" && s.tags[tag]:
		return failed("ResourceInUse.TagDuplicate")
	case action == "CreateTag":
		s.tags[tag] = true
	case action == "DeleteTag" && !s.tags[tag]:
		return failed("ResourceNotFound.TagNonExist")
	case action == "DeleteTag":
		delete(s.tags, tag)
	case action == "DescribeTags" && s.tags[tag]:
		return fmt.Sprintf(`{"TotalCount":1,"Tags":[{"TagKey":%q,"TagValue":%q}],"RequestId":"1"}`,
			in.TagKey, in.TagValue)
	case action == "DescribeTags":
		return `{"TotalCount":0,"Tags":[],"RequestId":"1"}`
	case action == "AssumeRole" && strings.HasSuffix(in.RoleArn, "/allowed"):
		s.Keys["AKIDtmp"], s.Tokens["AKIDtmp"] = "temporary", "token"
		return fmt.Sprintf(`{"Credentials":{"Token":"token","TmpSecretId":"AKIDtmp","TmpSecretKey":"temporary"},`+
			`"ExpiredTime":%d}`,
			time.Now().Add(time.Hour).Unix())
	case action == "AssumeRole":
		return failed("InvalidParameter.RoleNotExist")
	default:
		return failed("InvalidAction")
	}
	return `{"RequestId":"1"}`
}

func (s *Server) checkServiceSignature(r *http.Request, service string, body []byte) bool {
	auth := r.Header.Get("Authorization")
	_, credential, _ := strings.Cut(auth, "Credential=")
	id, rest, _ := strings.Cut(credential, "/")
	scope, rest, _ := strings.Cut(rest, ", SignedHeaders=")
	signed, signature, _ := strings.Cut(rest, ", Signature=")
	secret, ok := s.Keys[id]
	if !ok || r.Header.Get("X-Tc-Token") != s.Tokens[id] {
		return false
	}
	hashed := func(text string) string { sum := sha256.Sum256([]byte(text)); return hex.EncodeToString(sum[:]) }
	headers := ""
	for name := range strings.SplitSeq(signed, ";") {
		value := r.Header.Get(name)
		if name == "host" {
			value = r.Host
		}
		headers += name + ":" + strings.ToLower(value) + "\n"
	}
	date := seconds(r.Header.Get("X-Tc-Timestamp")).UTC().Format(time.DateOnly)
	text := "TC3-HMAC-SHA256\n" + r.Header.Get("X-Tc-Timestamp") + "\n" + scope + "\n" +
		hashed("POST\n/\n\n"+headers+"\n"+signed+"\n"+hashed(string(body)))
	key := restapi.HMAC(sha256.New, restapi.HMAC(sha256.New, restapi.HMAC(sha256.New, "TC3"+secret, date), service),
		"tc3_request")
	return scope == date+"/"+service+"/tc3_request" && hexOf(restapi.HMAC(sha256.New, key, text)) == signature
}
