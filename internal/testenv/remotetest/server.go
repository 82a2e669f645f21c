package remotetest

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/uuid"
)

// pageSize is the number of workspaces on a page.
const pageSize = 3

// Server is a service with one organization, "acme".
type Server struct {
	URL string // URL of the service, with a slash at the end
	// Users maps tokens to names of users.
	Users map[string]string
	// Inline makes the server accept states only as a part of the request for a new version,
	// instead of uploads.
	Inline bool
	// OutputsOnly makes the server refuse states, but not their outputs.
	OutputsOnly bool
	// Intercept, if not nil, is called before each request. It returns true if it has answered the
	// request.
	Intercept func(w http.ResponseWriter, r *http.Request) bool
	// Drop, if not nil, reports whether the response to a request is lost after the request was
	// carried out.
	Drop func(r *http.Request) bool

	http *httptest.Server

	mu         sync.Mutex
	workspaces []*Workspace
	projects   map[string]string // project IDs by name
	last       int               // number of the last ID
	requests   []string
}

// Workspace is a workspace of the organization.
type Workspace struct {
	ID, Name, Project string
	Tags              []string
	// Mode is the execution mode: "local", "remote" or "agent".
	Mode     string
	LockedBy string // name of the user; "" if it isn't locked
	Reason   string
	States   []State
}

// State is a version of a state.
type State struct {
	ID, Lineage string
	MD5         string
	Serial      uint64
	Data        []byte // nil until it is uploaded
	Outputs     map[string]Output
	key         string // the end of the address for the upload
}

// Output is an output of a state.
type Output struct {
	Value     any             `json:"value"`
	Type      json.RawMessage `json:"type"`
	Sensitive bool            `json:"sensitive"`
}

// Start starts a service without workspaces. The token "s3cret" belongs to the user "somebody".
func Start() *Server {
	s := &Server{Users: map[string]string{"s3cret": "somebody"}, projects: map[string]string{"default": "prj-0"}}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL + "/api/v2/"
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

// Create creates a workspace with an execution mode.
func (s *Server) Create(name, mode string, tags ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.create(&Workspace{Name: name, Mode: mode, Tags: tags})
}

// AddProject creates a project.
func (s *Server) AddProject(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.projects[name] = s.id("prj")
}

// Workspaces returns copies of all workspaces by name.
func (s *Server) Workspaces() map[string]Workspace {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make(map[string]Workspace)
	for _, w := range s.workspaces {
		out[w.Name] = *w
	}
	return out
}

func (s *Server) id(kind string) string {
	s.last++
	return kind + "-" + strconv.Itoa(s.last)
}

func (s *Server) create(w *Workspace) {
	w.ID = s.id("ws")
	if w.Mode == "" {
		w.Mode = "remote"
	}
	if w.Project == "" {
		w.Project = "prj-0"
	}
	s.workspaces = append(s.workspaces, w)
}

type document = map[string]any

type request struct {
	*http.Request
	user string
	body []byte
}

type refusal struct {
	status int
	detail string
}

var errNotFound = &refusal{http.StatusNotFound, "Resource not found"}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	if s.Intercept != nil && s.Intercept(w, r) {
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	w.Header().Set("TFP-API-Version", "2.6")
	w.Header().Set("X-RateLimit-Limit", "30")
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v2/")
	user := s.Users[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	var answer any
	var problem *refusal
	switch {
	case !ok:
		problem = errNotFound
	case strings.HasPrefix(path, "uploads/"): // the address is secret, so no token is needed
		answer, problem = s.upload(r.Method, strings.TrimPrefix(path, "uploads/"), body)
	case path == "ping":
		w.WriteHeader(http.StatusNoContent)
		return
	case user == "":
		problem = &refusal{http.StatusUnauthorized, ""}
	default:
		answer, problem = s.route(&request{r, user, body}, strings.Split(path, "/"))
	}
	if s.Drop != nil && s.Drop(r) {
		panic(http.ErrAbortHandler)
	}
	respond(w, answer, problem)
}

func respond(w http.ResponseWriter, answer any, problem *refusal) {
	switch text, isText := answer.([]byte); {
	case problem != nil:
		w.Header().Set("Content-Type", "application/vnd.api+json")
		w.WriteHeader(problem.status)
		one := document{"status": strconv.Itoa(problem.status),
			"title": strings.ToLower(http.StatusText(problem.status))}
		if problem.detail != "" {
			one["detail"] = problem.detail
		}
		_ = json.NewEncoder(w).Encode(document{"errors": []any{one}})
	case isText:
		_, _ = w.Write(text)
	case answer == nil:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Content-Type", "application/vnd.api+json")
		_ = json.NewEncoder(w).Encode(answer)
	}
}

// route responds to a request. parts are the elements of its path.
func (s *Server) route(r *request, parts []string) (any, *refusal) {
	switch {
	case parts[0] == "organizations" && (len(parts) < 2 || parts[1] != "acme"):
		return nil, errNotFound
	case parts[0] == "organizations":
		return s.organization(r, parts[2:])
	case parts[0] == "workspaces" && len(parts) > 1:
		i := slices.IndexFunc(s.workspaces, func(w *Workspace) bool { return w.ID == parts[1] })
		if i < 0 {
			return nil, errNotFound
		}
		return s.workspace(r, s.workspaces[i], strings.Join(parts[2:], "/"))
	case (parts[0] == "states" || parts[0] == "state-versions") && len(parts) == 2:
		for _, w := range s.workspaces {
			for i := range w.States {
				switch {
				case w.States[i].ID != parts[1]:
				case parts[0] == "states":
					return s.content(&w.States[i])
				default:
					return document{"data": s.showState(&w.States[i])}, nil
				}
			}
		}
	}
	return nil, errNotFound
}

// content returns the content of a state, or refuses it if OutputsOnly is set.
func (s *Server) content(state *State) (any, *refusal) {
	if s.OutputsOnly {
		return nil, &refusal{http.StatusForbidden, "forbidden"}
	}
	return state.Data, nil
}

// upload stores the content of a state whose address for uploads ends with key.
func (s *Server) upload(method, key string, body []byte) (any, *refusal) {
	for _, w := range s.workspaces {
		for i := range w.States {
			state := &w.States[i]
			if key == state.key+"/json" { // the state in the JSON form for other programs, which isn't kept
				return []byte{}, nil
			}
			if method != http.MethodPut || state.key != key {
				continue
			}
			if sum := md5.Sum(body); hex.EncodeToString(sum[:]) != state.MD5 {
				return nil, &refusal{http.StatusUnprocessableEntity, "the content doesn't have the announced checksum"}
			}
			state.Data = body
			return []byte{}, nil
		}
	}
	return nil, errNotFound
}

func (s *Server) organization(r *request, parts []string) (any, *refusal) {
	switch action := r.Method + " " + strings.Join(parts, "/"); {
	case action == "GET ":
		return document{"data": document{"id": "acme", "type": "organizations", "attributes": document{"name": "acme",
			"permissions": document{"can-create-workspace": true}}}}, nil
	case action == "GET entitlement-set":
		return document{"data": document{"id": "org-1", "type": "entitlement-sets", "attributes": document{
			"operations": true, "state-storage": true}}}, nil
	case action == "GET projects":
		return s.listProjects(r), nil
	case action == "GET workspaces":
		return s.list(r), nil
	case action == "POST workspaces":
		return s.post(r)
	case len(parts) == 2 && parts[0] == "workspaces":
		i := slices.IndexFunc(s.workspaces, func(w *Workspace) bool { return w.Name == parts[1] })
		if i < 0 {
			return nil, errNotFound
		}
		if r.Method == http.MethodDelete {
			s.workspaces = slices.Delete(s.workspaces, i, i+1)
			return nil, nil
		}
		return s.workspace(r, s.workspaces[i], "")
	}
	return nil, errNotFound
}

func (s *Server) listProjects(r *request) any {
	items := []any{}
	for name, id := range s.projects {
		if want := r.URL.Query().Get("filter[names]"); want == "" || want == name {
			items = append(items, document{"id": id, "type": "projects", "attributes": document{"name": name}})
		}
	}
	return document{"data": items, "meta": pagination(1, 1, len(items))}
}

func pagination(page, pages, count int) document {
	next := any(nil)
	if page < pages {
		next = page + 1
	}
	return document{"pagination": document{"current-page": page, "next-page": next, "total-pages": pages,
		"total-count": count}}
}

func (s *Server) list(r *request) any {
	query := r.URL.Query()
	var found []*Workspace
	for _, w := range s.workspaces {
		tags := strings.Split(query.Get("search[tags]"), ",")
		tagged := query.Get("search[tags]") == "" ||
			!slices.ContainsFunc(tags, func(tag string) bool { return !slices.Contains(w.Tags, tag) })
		project := query.Get("filter[project][id]")
		if tagged && strings.Contains(w.Name, query.Get("search[name]")) && (project == "" || project == w.Project) {
			found = append(found, w)
		}
	}
	page, _ := strconv.Atoi(query.Get("page[number]"))
	page = max(page, 1)
	pages := max((len(found)+pageSize-1)/pageSize, 1)
	items := []any{}
	for _, w := range found[min((page-1)*pageSize, len(found)):min(page*pageSize, len(found))] {
		items = append(items, s.show(w))
	}
	return document{"data": items, "meta": pagination(page, pages, len(found))}
}

func (s *Server) show(w *Workspace) document {
	relations := document{"project": document{"data": document{"id": w.Project, "type": "projects"}},
		"locked-by": document{"data": nil}, "current-state-version": document{"data": nil},
		"organization": document{"data": document{"id": "acme", "type": "organizations"}}}
	if w.LockedBy != "" {
		relations["locked-by"] = document{"data": document{"id": "user-" + w.LockedBy, "type": "users"}}
	}
	return document{"id": w.ID, "type": "workspaces", "attributes": document{"name": w.Name, "locked": w.LockedBy != "",
		"locked-reason": w.Reason, "execution-mode": w.Mode, "operations": w.Mode != "local", "tag-names": w.Tags,
		"terraform-version": "1.12.6", "permissions": document{"can-lock": true, "can-unlock": true,
			"can-force-unlock": true, "can-queue-apply": true, "can-queue-run": true, "can-read-settings": true,
			"can-destroy": true, "can-update": true}}, "relationships": relations}
}

func (s *Server) post(r *request) (any, *refusal) {
	var in struct {
		Data struct {
			Attributes struct {
				Name          string
				ExecutionMode string   `json:"execution-mode"`
				TagNames      []string `json:"tag-names"`
			}
			Relationships struct {
				Project struct{ Data struct{ ID string } }
				Tags    struct {
					Data []struct{ Attributes struct{ Name string } }
				}
			}
		}
	}
	if err := json.Unmarshal(r.body, &in); err != nil || in.Data.Attributes.Name == "" {
		return nil, &refusal{http.StatusUnprocessableEntity, "Name can't be blank"}
	}
	a := in.Data.Attributes
	isTaken := slices.ContainsFunc(s.workspaces, func(w *Workspace) bool { return w.Name == a.Name })
	if isTaken {
		return nil, &refusal{http.StatusUnprocessableEntity, "Name has already been taken"}
	}
	hasOther := strings.ContainsFunc(a.Name, func(c rune) bool {
		return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_')
	})
	if hasOther {
		return nil, &refusal{http.StatusUnprocessableEntity, "Name can only include letters, numbers, -, and _"}
	}
	w := &Workspace{Name: a.Name, Mode: a.ExecutionMode, Tags: a.TagNames,
		Project: in.Data.Relationships.Project.Data.ID}
	for _, tag := range in.Data.Relationships.Tags.Data {
		w.Tags = append(w.Tags, tag.Attributes.Name)
	}
	s.create(w)
	return document{"data": s.show(w)}, nil
}

func (s *Server) workspace(r *request, w *Workspace, action string) (any, *refusal) {
	switch r.Method + " " + action {
	case "GET ":
		out := document{"data": s.show(w)}
		if w.LockedBy != "" && strings.Contains(r.URL.Query().Get("include"), "locked_by") {
			out["included"] = []any{document{"id": "user-" + w.LockedBy, "type": "users",
				"attributes": document{"username": w.LockedBy}}}
		}
		return out, nil
	case "DELETE ", "POST actions/safe-delete":
		s.workspaces = slices.DeleteFunc(s.workspaces, func(other *Workspace) bool { return other == w })
		return nil, nil
	case "POST actions/lock":
		var in struct {
			Reason string
			Data   struct{ Attributes struct{ Reason string } }
		}
		_ = json.Unmarshal(r.body, &in) // the reason is optional
		if w.LockedBy != "" {
			return nil, &refusal{http.StatusConflict, "Unable to lock workspace. The workspace is already locked."}
		}
		w.LockedBy, w.Reason = r.user, in.Reason+in.Data.Attributes.Reason
		return document{"data": s.show(w)}, nil
	case "POST actions/unlock", "POST actions/force-unlock":
		if w.LockedBy == "" {
			return nil, &refusal{http.StatusConflict, "Unable to unlock workspace. The workspace is already unlocked."}
		}
		if action == "actions/unlock" && w.LockedBy != r.user {
			return nil,
				&refusal{http.StatusConflict, "Unable to unlock workspace. The workspace is locked by another user."}
		}
		w.LockedBy, w.Reason = "", ""
		return document{"data": s.show(w)}, nil
	case "GET current-state-version":
		if w.current() == nil {
			return nil, errNotFound
		}
		return document{"data": s.showState(w.current())}, nil
	case "GET current-state-version-outputs":
		if w.current() == nil {
			return nil, errNotFound
		}
		items := []any{}
		for name, o := range w.current().Outputs {
			items = append(items,
				document{"id": "wsout-" + name, "type": "state-version-outputs", "attributes": document{
					"name": name, "value": o.Value, "detailed-type": o.Type, "sensitive": o.Sensitive}})
		}
		return document{"data": items}, nil
	case "POST state-versions":
		return s.postState(r, w)
	case "POST relationships/tags":
		var in struct {
			Data []struct{ Attributes struct{ Name string } }
		}
		if err := json.Unmarshal(r.body, &in); err != nil {
			return nil, &refusal{http.StatusBadRequest, err.Error()}
		}
		for _, tag := range in.Data {
			w.Tags = append(w.Tags, tag.Attributes.Name)
		}
		return nil, nil
	}
	return nil, errNotFound
}

// current returns the last complete state, or nil if no state is complete.
func (w *Workspace) current() *State {
	for i := len(w.States) - 1; i >= 0; i-- {
		if w.States[i].Data != nil {
			return &w.States[i]
		}
	}
	return nil
}

func (s *Server) showState(state *State) document {
	return document{"id": state.ID, "type": "state-versions", "attributes": document{"serial": state.Serial,
		"size": len(state.Data), "status": "finalized", "hosted-state-download-url": s.URL + "states/" + state.ID,
		"hosted-state-upload-url":      s.URL + "uploads/" + state.key,
		"hosted-json-state-upload-url": s.URL + "uploads/" + state.key + "/json"}}
}

func (s *Server) postState(r *request, w *Workspace) (any, *refusal) {
	var in struct {
		Data struct {
			Attributes struct {
				Serial              *uint64
				MD5, Lineage, State string
				Force               bool
				Outputs             string `json:"json-state-outputs"`
			}
		}
	}
	if err := json.Unmarshal(r.body, &in); err != nil {
		return nil, &refusal{http.StatusBadRequest, err.Error()}
	}
	a := in.Data.Attributes
	next := State{Lineage: a.Lineage, MD5: a.MD5}
	if problem := s.checkState(r, w, a.Serial, a.State, a.Force, &next); problem != nil {
		return nil, problem
	}
	if text, err := base64.StdEncoding.DecodeString(a.Outputs); err == nil {
		_ = json.Unmarshal(text, &next.Outputs) // outputs are optional
	}
	next.ID, next.key = s.id("sv"), uuid.NewString()
	w.States = append(w.States, next)
	return document{"data": s.showState(&next)}, nil
}

// checkState completes next, which is a new version of the state of w. If the version must be
// refused, it returns the reason.
func (s *Server) checkState(r *request, w *Workspace, serial *uint64, text string, force bool, next *State) *refusal {
	last := w.current()
	switch {
	case w.LockedBy != r.user:
		return &refusal{http.StatusConflict, "The workspace must be locked by the user who creates a state version"}
	case serial == nil || next.MD5 == "":
		return &refusal{http.StatusUnprocessableEntity, "serial and md5 can't be blank"}
	case text == "" && s.Inline:
		return &refusal{http.StatusBadRequest, "param is missing or the value is empty: state"}
	case last != nil && !force && last.Lineage != next.Lineage:
		return &refusal{http.StatusConflict, "The lineage of the state differs from the current one"}
	case last != nil && !force && *serial <= last.Serial && last.MD5 != next.MD5:
		return &refusal{http.StatusConflict, fmt.Sprintf("The serial %d isn't greater than the current one, %d",
			*serial, last.Serial)}
	}
	next.Serial = *serial
	if text == "" {
		return nil
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if sum := md5.Sum(data); err != nil || hex.EncodeToString(sum[:]) != next.MD5 {
		return &refusal{http.StatusUnprocessableEntity, "the state doesn't have the announced checksum"}
	}
	next.Data = data
	return nil
}
