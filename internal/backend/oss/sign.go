package oss

import (
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"hash"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// signer signs requests to the storage: with version 4 of the signatures if the region is known, as
// OSS demands of new accounts, otherwise with version 1.
type signer struct {
	keys   *credentials
	region string
	bucket string
}

// headerPrefix begins the names of headers that are signed, in lower case.
const headerPrefix = "x-oss-"

const unsignedPayload = "UNSIGNED-PAYLOAD"

func (s *signer) sign(ctx context.Context, req *http.Request, _ []byte) error {
	key, err := s.keys.get(ctx)
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	if key.token != "" {
		req.Header.Set("X-Oss-Security-Token", key.token)
	}
	req.Header.Set("Date", now.Format(http.TimeFormat))
	if s.region == "" {
		req.Header.Set("Authorization", "OSS "+key.id+":"+signature1(req, s.bucket, key.secret))
		return nil
	}
	req.Header.Set("X-Oss-Date", now.Format("20060102T150405Z"))
	req.Header.Set("X-Oss-Content-Sha256", unsignedPayload)
	scope := now.Format("20060102") + "/" + s.region + "/oss/aliyun_v4_request"
	req.Header.Set("Authorization", "OSS4-HMAC-SHA256 Credential="+key.id+"/"+scope+",Signature="+
		signature4(req, s.bucket, scope, key.secret))
	return nil
}

func mac(h func() hash.Hash, key, text string) string {
	m := hmac.New(h, []byte(key))
	m.Write([]byte(text))
	return string(m.Sum(nil))
}

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// escape escapes all but unreserved characters.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// signedHeaders returns the lines of the headers whose names in lower case satisfy a condition.
func signedHeaders(header http.Header, signed func(name string) bool) string {
	var lines []string
	for name, values := range header {
		if name = strings.ToLower(name); signed(name) {
			lines = append(lines, name+":"+strings.TrimSpace(strings.Join(values, ","))+"\n")
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// resource returns the path of a request, with the bucket at its beginning.
func resource(req *http.Request, bucket string) string {
	path := strings.TrimPrefix(req.URL.Path, "/")
	if rest, ok := strings.CutPrefix(path, bucket+"/"); ok && !strings.HasPrefix(req.URL.Host, bucket+".") {
		path = rest
	}
	return "/" + bucket + "/" + path
}

// signature1 returns the signature of version 1. Requests have no parameters that it includes.
func signature1(req *http.Request, bucket, secret string) string {
	h := req.Header
	text := req.Method + "\n" + h.Get("Content-Md5") + "\n" + h.Get("Content-Type") + "\n" + h.Get("Date") + "\n" +
		signedHeaders(h, func(name string) bool { return strings.HasPrefix(name, headerPrefix) }) + resource(req, bucket)
	return base64Of(mac(sha1.New, secret, text))
}

// signature4 returns the signature of version 4 without the payload, which TLS protects.
func signature4(req *http.Request, bucket, scope, secret string) string {
	var query []string
	for name, values := range req.URL.Query() {
		pair := escape(name)
		if values[0] != "" {
			pair += "=" + escape(values[0])
		}
		query = append(query, pair)
	}
	slices.Sort(query)
	headers := signedHeaders(req.Header, func(name string) bool {
		return strings.HasPrefix(name, headerPrefix) || name == "content-type" || name == "content-md5"
	})
	canonical := req.Method + "\n" + strings.ReplaceAll(escape(resource(req, bucket)), "%2F", "/") + "\n" +
		strings.Join(query, "&") + "\n" + headers + "\n\n" + unsignedPayload
	sum := sha256.Sum256([]byte(canonical))
	text := "OSS4-HMAC-SHA256\n" + req.Header.Get("X-Oss-Date") + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := "aliyun_v4" + secret
	for part := range strings.SplitSeq(scope, "/") {
		key = mac(sha256.New, key, part)
	}
	return hex.EncodeToString([]byte(mac(sha256.New, key, text)))
}
