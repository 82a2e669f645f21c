package oss

import (
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"

	"tofu/internal/restapi"
)

// signer signs requests to the storage. It uses version 4 of the signatures if the region is known,
// because OSS requires that for new accounts, and version 1 otherwise.
type signer struct {
	keys   *credentials
	region string
	bucket string
}

// headerPrefix is the prefix of the names of signed headers, in lower case.
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

func base64Of(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// signedHeaders returns the lines for the headers whose lowercase names satisfy a condition.
func signedHeaders(header http.Header, signed func(name string) bool) string {
	var lines []string
	for name, values := range header {
		name = strings.ToLower(name)
		if signed(name) {
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

// signature1 returns the signature of version 1. It ignores query parameters, because no request
// has parameters that the signature must include.
func signature1(req *http.Request, bucket, secret string) string {
	h := req.Header
	text := req.Method + "\n" + h.Get("Content-Md5") + "\n" + h.Get("Content-Type") + "\n" + h.Get("Date") + "\n" +
		signedHeaders(h, func(name string) bool { return strings.HasPrefix(name, headerPrefix) }) +
		resource(req, bucket)
	return base64Of(restapi.HMAC(sha1.New, secret, text))
}

// signature4 returns the signature of version 4. It does not cover the payload, which TLS protects.
func signature4(req *http.Request, bucket, scope, secret string) string {
	var query []string
	for name, values := range req.URL.Query() {
		pair := restapi.Escape(name)
		if values[0] != "" {
			pair += "=" + restapi.Escape(values[0])
		}
		query = append(query, pair)
	}
	slices.Sort(query)
	headers := signedHeaders(req.Header, func(name string) bool {
		return strings.HasPrefix(name, headerPrefix) || name == "content-type" || name == "content-md5"
	})
	canonical := req.Method + "\n" + strings.ReplaceAll(restapi.Escape(resource(req, bucket)), "%2F", "/") + "\n" +
		strings.Join(query, "&") + "\n" + headers + "\n\n" + unsignedPayload
	sum := sha256.Sum256([]byte(canonical))
	text := "OSS4-HMAC-SHA256\n" + req.Header.Get("X-Oss-Date") + "\n" + scope + "\n" + hex.EncodeToString(sum[:])
	key := "aliyun_v4" + secret
	for part := range strings.SplitSeq(scope, "/") {
		key = restapi.HMAC(sha256.New, key, part)
	}
	return hex.EncodeToString([]byte(restapi.HMAC(sha256.New, key, text)))
}
