package awsapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"tofu/internal/restapi"
)

// A Service calls a service of AWS with the credentials of an account.
type Service struct {
	ID       ServiceID
	Endpoint *url.URL
	Custom   bool // whether the user has configured the endpoint

	account *Account
	rest    *restapi.Client
}

// Service returns a client for the service with the given ID. endpoint is the value of the argument
// that sets the address of the service, or "". path is the path of that argument, for errors. again
// reports whether a call should be repeated after an error, and may be nil. Calls are also repeated
// if the service is busy, or if the clock of this machine turns out to be wrong.
func (a *Account) Service(
	ctx context.Context, id ServiceID, endpoint string, path []string, again func(*Error) bool,
) (*Service, error) {
	u, err := a.endpoint(ctx, id, []string{endpoint}, path...)
	if err != nil {
		return nil, err
	}
	s := &Service{ID: id, Endpoint: u, Custom: u != nil, account: a}
	if u == nil {
		s.Endpoint = &url.URL{Scheme: "https", Host: host(id, a.Region, a.fips(ctx), a.dualStack(ctx))}
	}
	s.rest = &restapi.Client{HTTP: a.http, Retries: a.retries, Sign: s.sign, Again: func(r *restapi.Response) bool {
		if r.Status < 300 {
			return false
		}
		err := s.failure("", r)
		return err.throttled() || a.adjustClock(err) || again != nil && again(err)
	}}
	return s, nil
}

// DualStack reports whether to use endpoints with IPv6 addresses.
func (s *Service) DualStack(ctx context.Context) bool { return s.account.dualStack(ctx) }

// FIPS reports whether to use endpoints with FIPS cryptography.
func (s *Service) FIPS(ctx context.Context) bool { return s.account.fips(ctx) }

func (s *Service) sign(ctx context.Context, req *http.Request, body []byte) error {
	creds, err := s.account.config.Credentials.Retrieve(ctx)
	if err != nil {
		return fmt.Errorf("renewing the AWS credentials: %w", err)
	}
	s.account.source.Store(" from " + creds.Source)
	sum := req.Header.Get("X-Amz-Content-Sha256")
	if sum == "" {
		hash := sha256.Sum256(body)
		sum = hex.EncodeToString(hash[:])
	}
	if s.ID.Signing == "s3" { // S3 requires the hash in a header
		req.Header.Set("X-Amz-Content-Sha256", sum)
	}
	now := time.Now().Add(time.Duration(s.account.skew.Load()))
	// S3 signs the path without escaping it again.
	asIs := func(o *v4.SignerOptions) { o.DisableURIPathEscaping = s.ID.Signing == "s3" }
	return v4.NewSigner().SignHTTP(ctx, creds, req, sum, s.ID.Signing, s.account.Region, now, asIs)
}

// Do sends a request. call is the API call's name, for error messages. If the service refuses the
// call, the error is an *Error.
func (s *Service) Do(ctx context.Context, call string, r *restapi.Request) (*restapi.Response, error) {
	resp, err := s.rest.Do(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("operation error %s: %s: %w", s.ID.Name, call, err)
	}
	if resp.Status >= 300 {
		return nil, s.failure(call, resp)
	}
	return resp, nil
}

// JSON calls a service that uses JSON. version is the version of the AWS JSON protocol, such as
// "1.0". target is the name of the service's interface and the name of the call, separated by a
// dot. The response is decoded into out.
func (s *Service) JSON(ctx context.Context, version, target string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	u := *s.Endpoint
	if u.Path == "" {
		u.Path = "/"
	}
	_, call, _ := strings.Cut(target, ".")
	resp, err := s.Do(ctx, call, &restapi.Request{Method: http.MethodPost, URL: &u, Body: body, Header: http.Header{
		"Content-Type": {"application/x-amz-json-" + version}, "X-Amz-Target": {target}}})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(resp.Body, out); err != nil {
		return fmt.Errorf("operation error %s: %s: the response is not valid: %w", s.ID.Name, call, err)
	}
	return nil
}

// An Error is an error response of a service.
type Error struct {
	Service, Call string
	Status        int
	Code, Message string
	RequestID     string
	Header        http.Header
	from          string // the address, if the response isn't one of the service
	advice        string
}

func (s *Service) failure(call string, r *restapi.Response) *Error {
	e := &Error{Service: s.ID.Name, Call: call, Status: r.Status, Header: r.Header}
	e.RequestID = r.Header.Get("X-Amz-Request-Id")
	if e.RequestID == "" {
		e.RequestID = r.Header.Get("X-Amzn-Requestid")
	}
	var asXML struct{ Code, Message string }
	var asJSON struct {
		Type    string `json:"__type"`
		Message string `json:"message"` // decoding ignores the case, so "Message" matches too
	}
	switch {
	case xml.Unmarshal(r.Body, &asXML) == nil && asXML.Code != "":
		e.Code, e.Message = asXML.Code, asXML.Message
	case json.Unmarshal(r.Body, &asJSON) == nil && asJSON.Type != "":
		e.Code, e.Message = asJSON.Type[strings.LastIndexByte(asJSON.Type, '#')+1:], asJSON.Message
	}
	if e.Code == "" { // for example, from a proxy
		e.from = r.From
	}
	e.advice = s.advice(e)
	return e
}

// Error returns a text in the form of the AWS SDK's errors, which users and scripts know.
func (e *Error) Error() string {
	text := fmt.Sprintf("operation error %s: %s, https response error StatusCode: %d", e.Service, e.Call, e.Status)
	if e.RequestID != "" {
		text += ", RequestID: " + e.RequestID
	}
	if e.Code != "" {
		text += ", " + e.Code
	}
	if e.Message != "" {
		text += ": " + strings.TrimSuffix(e.Message, ".")
	}
	if e.from != "" {
		text += ", from " + e.from
	}
	if e.advice != "" {
		text += ". " + e.advice
	}
	return text
}

func (e *Error) throttled() bool {
	switch e.Code {
	case "SlowDown", "Throttling", "ThrottlingException", "ThrottledException",
		"RequestThrottled", "RequestThrottledException",
		"TooManyRequestsException", "ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestTimeout",
		"TransactionInProgressException", "PriorRequestNotComplete", "LimitExceededException":
		return true
	}
	return false
}

// advice returns a sentence that explains an error caused by the credentials or by the clock of
// this machine. It returns "" for other errors.
func (s *Service) advice(e *Error) string {
	source, _ := s.account.source.Load().(string)
	switch e.Code {
	case "ExpiredToken", "ExpiredTokenException", "RequestExpired":
		return "The credentials" + source + " have expired: sign in again"
	case "InvalidAccessKeyId", "UnrecognizedClientException", "InvalidClientTokenId", "InvalidToken":
		return "The service doesn't know the credentials" + source + ": check the access key, and whether its " +
			"account belongs to this service"
	case "SignatureDoesNotMatch", "InvalidSignatureException":
		return "The secret access key" + source + " doesn't belong to the access key"
	case "AccessDenied", "AccessDeniedException":
		return "The credentials" + source + " have no permission for this call"
	case "RequestTimeTooSkewed":
		return fmt.Sprintf("The clock of this machine (%s) differs too much from the clock of the service (%s): "+
			"set the clock",
			time.Now().UTC().Format(time.RFC3339), e.Header.Get("Date"))
	}
	return ""
}

// adjustClock stores the time of the service if an error says that the clock of this machine is
// wrong. It reports whether another attempt may succeed.
func (a *Account) adjustClock(e *Error) bool {
	const tolerated = 4 * time.Minute
	switch e.Code {
	case "RequestTimeTooSkewed", "RequestExpired", "InvalidSignatureException", "SignatureDoesNotMatch",
		"RequestInTheFuture":
	default:
		return false
	}
	at, err := http.ParseTime(e.Header.Get("Date"))
	if err != nil {
		return false
	}
	skew := time.Until(at)
	if (skew - time.Duration(a.skew.Load())).Abs() < tolerated {
		return false
	}
	a.skew.Store(int64(skew))
	return true
}

// EscapePath encodes the path of a URL as S3 does for signatures.
func EscapePath(path string) string {
	const hexDigits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hexDigits[c>>4], hexDigits[c&15]})
		}
	}
	return b.String()
}
