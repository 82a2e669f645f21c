package kubetest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
)

const (
	// MaxSecret is the maximum size of the data of a secret in bytes.
	MaxSecret = 1 << 20
	// maxBody is the maximum size of a request in bytes.
	maxBody = 3 << 20
)

// Server is an API server on a loopback port, over TLS.
type Server struct {
	URL string
	// CA is the certificate of the server in PEM format.
	CA string
	// Token is the bearer token that requests must have, or "" if they need none.
	Token string
	// Intercept, if not nil, is called before each request. It returns true if it has answered the
	// request.
	Intercept func(w http.ResponseWriter, r *http.Request) bool
	// Drop, if not nil, reports whether the response to a request is lost after the request was
	// carried out.
	Drop func(r *http.Request) bool

	http *httptest.Server

	mu       sync.Mutex
	version  int
	objects  map[string]Object // objects by path
	requests []string
}

// Object is a secret or a lease.
type Object = map[string]any

// collections lists the supported collections: their paths, and the kind of their objects.
var collections = []struct {
	path       *regexp.Regexp
	kind       string
	apiVersion string
}{
	{regexp.MustCompile(`^/api/v1/namespaces/[^/]+/secrets$`), "Secret", "v1"},
	{regexp.MustCompile(`^/apis/coordination.k8s.io/v1/namespaces/[^/]+/leases$`), "Lease", "coordination.k8s.io/v1"},
}

// Start starts an empty server.
func Start() *Server {
	s := &Server{objects: make(map[string]Object), version: 100}
	s.http = httptest.NewTLSServer(s)
	s.URL = s.http.URL
	s.CA = certificate(s.http)
	return s
}

// Close stops the server.
func (s *Server) Close() { s.http.Close() }

// Requests returns the methods and paths of all requests so far.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Objects returns all objects by kind and name, such as "Secret/NAME".
func (s *Server) Objects() map[string]Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]Object)
	for path, o := range s.objects {
		out[o["kind"].(string)+"/"+path[strings.LastIndex(path, "/")+1:]] = o
	}
	return out
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	if s.Intercept != nil && s.Intercept(w, r) {
		return
	}
	if s.Token != "" && r.Header.Get("Authorization") != "Bearer "+s.Token {
		refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return
	}
	if len(body) > maxBody {
		refuse(w, http.StatusRequestEntityTooLarge, "RequestEntityTooLarge",
			fmt.Sprintf("Request entity too large: limit is %d", maxBody))
		return
	}
	if r.Header.Get("Content-Type") == protobufType && r.Method != http.MethodDelete {
		o, err := decodeLease(body)
		if err == nil {
			body, err = json.Marshal(o)
		}
		if err != nil {
			refuse(w, http.StatusBadRequest, "BadRequest", err.Error())
			return
		}
	}
	answer := s.route(r, body)
	if s.Drop != nil && s.Drop(r) {
		panic(http.ErrAbortHandler)
	}
	answer(w)
}

type answer func(w http.ResponseWriter)

func found(status int, o any) answer {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(o)
	}
}

func refusal(status int, reason, message string, args ...any) answer {
	return func(w http.ResponseWriter) { refuse(w, status, reason, fmt.Sprintf(message, args...)) }
}

func refuse(w http.ResponseWriter, status int, reason, message string) {
	found(status, Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message,
		"reason": reason, "code": status})(w)
}

func (s *Server) route(r *http.Request, body []byte) answer {
	for _, c := range collections {
		if c.path.MatchString(r.URL.Path) {
			switch r.Method {
			case http.MethodGet:
				return s.list(r, c.kind, c.apiVersion)
			case http.MethodPost:
				return s.create(r.URL.Path, c.kind, c.apiVersion, body)
			}
		}
		folder, name, _ := cutLast(r.URL.Path)
		if name == "" || !c.path.MatchString(folder) {
			continue
		}
		o := s.objects[r.URL.Path]
		if o == nil {
			return refusal(http.StatusNotFound, "NotFound", "%ss %q not found", strings.ToLower(c.kind), name)
		}
		switch r.Method {
		case http.MethodGet:
			return found(http.StatusOK, o)
		case http.MethodPut:
			return s.update(r.URL.Path, o, body)
		case http.MethodDelete:
			return s.remove(r.URL.Path, o, body)
		}
	}
	return refusal(http.StatusNotFound, "NotFound", "the server could not find the requested resource")
}

func cutLast(path string) (folder, name string, ok bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return path, "", false
	}
	return path[:i], path[i+1:], true
}

func metadata(o Object) Object {
	m, ok := o["metadata"].(Object)
	if !ok {
		m = Object{}
		o["metadata"] = m
	}
	return m
}

func (s *Server) list(r *http.Request, kind, apiVersion string) answer {
	items := []Object{}
	selector := r.URL.Query().Get("labelSelector")
	for _, path := range slices.Sorted(maps.Keys(s.objects)) {
		folder, _, _ := cutLast(path)
		if folder == r.URL.Path && matches(s.objects[path], selector) {
			items = append(items, s.objects[path])
		}
	}
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList") {
		kind, apiVersion = "PartialObjectMetadata", "meta.k8s.io/v1"
		for i, o := range items {
			items[i] = Object{"kind": kind, "apiVersion": apiVersion, "metadata": metadata(o)}
		}
	}
	return found(http.StatusOK, Object{"kind": kind + "List", "apiVersion": apiVersion,
		"metadata": Object{"resourceVersion": strconv.Itoa(s.version)}, "items": items})
}

// matches reports whether the labels of an object match a selector such as a=b,c!=d,e.
func matches(o Object, selector string) bool {
	labels, _ := metadata(o)["labels"].(Object)
	for term := range strings.SplitSeq(selector, ",") {
		name, value, _ := strings.Cut(term, "=")
		name, not := strings.CutSuffix(name, "!")
		have, ok := labels[name]
		switch {
		case term == "":
		case !strings.Contains(term, "="):
			if !ok {
				return false
			}
		case (have == strings.TrimPrefix(value, "=")) == not:
			return false
		}
	}
	return true
}

var validName = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

var validLabel = regexp.MustCompile(`^([A-Za-z0-9]([-_.A-Za-z0-9]*[A-Za-z0-9])?)?$`)

// check returns an error response if an object is invalid, or nil.
func check(o Object, name string) answer {
	const longestName, longestLabel = 253, 63
	invalid := func(field, why string) answer {
		return refusal(http.StatusUnprocessableEntity, "Invalid", "%s %q is invalid: %s: %s",
			o["kind"], name, field, why)
	}
	if !validName.MatchString(name) || len(name) > longestName {
		return invalid("metadata.name", "Invalid value: a lowercase RFC 1123 subdomain must consist of lower case "+
			"alphanumeric characters, '-' or '.'")
	}
	labels, _ := metadata(o)["labels"].(Object)
	for key, value := range labels {
		if text, ok := value.(string); !ok || !validLabel.MatchString(text) || len(text) > longestLabel {
			return invalid("metadata.labels", fmt.Sprintf("Invalid value: %q of %s", value, key))
		}
	}
	size := 0
	data, _ := o["data"].(Object)
	for _, value := range data {
		text, _ := value.(string)
		size += len(text) / 4 * 3
	}
	if size > MaxSecret {
		return invalid("data", fmt.Sprintf("Too long: may not be more than %d bytes", MaxSecret))
	}
	return nil
}

func (s *Server) create(folder, kind, apiVersion string, body []byte) answer {
	var o Object
	if err := json.Unmarshal(body, &o); err != nil {
		return refusal(http.StatusBadRequest, "BadRequest", "%s", err)
	}
	o["kind"], o["apiVersion"] = kind, apiVersion
	m := metadata(o)
	name, _ := m["name"].(string)
	path := folder + "/" + name
	if problem := check(o, name); problem != nil {
		return problem
	}
	if s.objects[path] != nil {
		return refusal(http.StatusConflict, "AlreadyExists", "%ss %q already exists", strings.ToLower(kind), name)
	}
	m["uid"], m["namespace"] = uuid.NewString(), strings.Split(strings.TrimPrefix(folder[strings.Index(folder,
		"namespaces/"):], "namespaces/"), "/")[0]
	s.store(path, o)
	return found(http.StatusCreated, o)
}

func (s *Server) store(path string, o Object) {
	s.version++
	metadata(o)["resourceVersion"] = strconv.Itoa(s.version)
	s.objects[path] = o
}

func (s *Server) update(path string, old Object, body []byte) answer {
	var o Object
	if err := json.Unmarshal(body, &o); err != nil {
		return refusal(http.StatusBadRequest, "BadRequest", "%s", err)
	}
	_, name, _ := cutLast(path)
	m, before := metadata(o), metadata(old)
	o["kind"], o["apiVersion"] = old["kind"], old["apiVersion"]
	if problem := check(o, name); problem != nil {
		return problem
	}
	if given := m["resourceVersion"]; given != nil && given != "" && given != before["resourceVersion"] {
		return conflict(old, name)
	}
	m["uid"], m["namespace"], m["name"] = before["uid"], before["namespace"], name
	s.store(path, o)
	return found(http.StatusOK, o)
}

func conflict(o Object, name string) answer {
	return refusal(http.StatusConflict, "Conflict", "Operation cannot be fulfilled on %ss %q: the object has been "+
		"modified; please apply your changes to the latest version and try again",
		strings.ToLower(o["kind"].(string)), name)
}

func (s *Server) remove(path string, old Object, body []byte) answer {
	var options struct {
		Preconditions struct{ UID, ResourceVersion *string }
	}
	if len(body) > 0 && body[0] == '{' { // a body in the binary form has no conditions
		if err := json.Unmarshal(body, &options); err != nil {
			return refusal(http.StatusBadRequest, "BadRequest", "%s", err)
		}
	}
	_, name, _ := cutLast(path)
	p := options.Preconditions
	if p.UID != nil && *p.UID != metadata(old)["uid"] ||
		p.ResourceVersion != nil && *p.ResourceVersion != metadata(old)["resourceVersion"] {
		return conflict(old, name)
	}
	delete(s.objects, path)
	s.version++
	return found(http.StatusOK, Object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
}
