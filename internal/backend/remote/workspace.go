package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"tofu/internal/backend"
)

// workspace is a workspace of the service.
type workspace struct {
	id, name string
	mode     string // the execution mode
	tags     []string
}

func newWorkspace(r *resource) *workspace {
	w := &workspace{id: r.ID, name: r.text("name"), mode: r.text("execution-mode")}
	// Older services have only the attribute "operations".
	if operations, ok := r.Attributes["operations"].(bool); ok && w.mode == "" {
		w.mode = "local"
		if operations {
			w.mode = "remote"
		}
	}
	tags, _ := r.Attributes["tag-names"].([]any)
	for _, tag := range tags {
		if text, ok := tag.(string); ok {
			w.tags = append(w.tags, text)
		}
	}
	return w
}

// serviceName returns the name that a workspace of this program has in the service. It reports
// false if the workspace can't exist.
func (s *Store) serviceName(name string) (string, bool) {
	switch {
	case s.name != "":
		return s.name, name == s.local
	case name == backend.DefaultWorkspace:
		return "", false
	}
	return s.prefix + name, true
}

func (s *Store) collection() string {
	return "organizations/" + url.PathEscape(s.organization) + "/workspaces"
}

// List implements backend.Store.
func (s *Store) List(ctx context.Context) ([]string, error) {
	if s.name != "" {
		return s.listOnly(ctx)
	}
	project, err := s.projectID(ctx)
	if err != nil {
		return nil, err
	}
	var names []string
	err = s.each(ctx, s.collection(), func(r *resource) {
		if name, ok := strings.CutPrefix(r.text("name"), s.prefix); ok && name != "" {
			names = append(names, name)
		}
	}, "search[name]", s.prefix, "search[tags]", strings.Join(s.tags, ","), "filter[project][id]", project)
	if err != nil {
		return nil, fmt.Errorf("listing the workspaces: %w", s.organizationError(err))
	}
	slices.Sort(names)
	return names, nil
}

// listOnly implements List for a store with a single workspace. It returns the workspace's local
// name if the workspace exists in the service. If that name is "default", the error is
// backend.ErrNoWorkspaces.
func (s *Store) listOnly(ctx context.Context) ([]string, error) {
	w, err := s.find(ctx, s.name)
	switch {
	case err != nil:
		return nil, err
	case s.local == backend.DefaultWorkspace:
		return nil, backend.ErrNoWorkspaces
	case w == nil:
		return nil, nil
	}
	return []string{s.local}, nil
}

// organizationError replaces the error for a missing collection with an explanation: the
// organization doesn't exist, or the token doesn't allow access to it.
func (s *Store) organizationError(err error) error {
	if hasStatus(err, http.StatusNotFound) {
		return fmt.Errorf("%s has no organization %q, or the token's user isn't allowed to see it", s.host,
			s.organization)
	}
	return err
}

// projectID returns the ID of the configured project, or "" if none is configured.
func (s *Store) projectID(ctx context.Context) (string, error) {
	if s.project == "" {
		return "", nil
	}
	id := ""
	err := s.each(ctx, "organizations/"+url.PathEscape(s.organization)+"/projects", func(r *resource) {
		if r.text("name") == s.project {
			id = r.ID
		}
	}, "filter[names]", s.project)
	if err == nil && id == "" {
		return "", fmt.Errorf("the organization %q has no project %q", s.organization, s.project)
	}
	if err != nil {
		return "", fmt.Errorf("looking for the project: %w", s.organizationError(err))
	}
	return id, nil
}

// find returns a workspace of the service, or nil if it doesn't exist.
func (s *Store) find(ctx context.Context, name string) (*workspace, error) {
	s.mu.Lock()
	w := s.known[name]
	s.mu.Unlock()
	if w != nil {
		return w, nil
	}
	found := new(resource)
	_, _, err := s.call(ctx, http.MethodGet, s.collection()+"/"+url.PathEscape(name), nil, found)
	if hasStatus(err, http.StatusNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("looking for the workspace %q: %w", name, err)
	}
	return s.learn(newWorkspace(found)), nil
}

func (s *Store) learn(w *workspace) *workspace {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[w.name] = w
	return w
}

// mustFind returns the service's workspace for a local workspace name, or an error if it doesn't
// exist.
func (s *Store) mustFind(ctx context.Context, local string) (*workspace, error) {
	name, ok := s.serviceName(local)
	if !ok {
		return nil, s.impossible(local)
	}
	w, err := s.find(ctx, name)
	if err == nil && w == nil {
		err = fmt.Errorf("the organization %q has no workspace %q, or the token's user isn't allowed to see it",
			s.organization, name)
	}
	return w, err
}

// with creates a workspace if necessary and passes it to the function do. It tries again once if
// another process has deleted the workspace.
func (s *Store) with(ctx context.Context, local string, do func(w *workspace) error) error {
	for attempt := 0; ; attempt++ {
		if err := s.Make(ctx, local); err != nil {
			return err
		}
		w, err := s.mustFind(ctx, local)
		if err != nil {
			return err
		}
		if err = do(w); !hasStatus(err, http.StatusNotFound) || attempt > 0 {
			return err
		}
		s.forget(w.name)
	}
}

func (s *Store) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, name)
}

// impossible returns the error for a workspace that the settings exclude.
func (s *Store) impossible(local string) error {
	if s.name != "" {
		return fmt.Errorf("%w: the settings select the workspace %q", backend.ErrNoWorkspaces, s.name)
	}
	return fmt.Errorf("there is no workspace %q here; select one with \"tofu workspace select\", create one with "+
		"\"tofu workspace new\", or name one in TF_WORKSPACE", local)
}

// Make implements backend.Maker. Operations on new workspaces run on this machine.
func (s *Store) Make(ctx context.Context, local string) error {
	name, ok := s.serviceName(local)
	if !ok {
		return s.impossible(local)
	}
	w, err := s.find(ctx, name)
	if err != nil {
		return err
	}
	if w != nil {
		return s.addTags(ctx, w)
	}
	if !s.create {
		return fmt.Errorf("the organization %q has no workspace %q, which TF_WORKSPACE names; create it first",
			s.organization, name)
	}
	project, err := s.projectID(ctx)
	if err != nil {
		return err
	}
	in := resource{Type: "workspaces", Attributes: map[string]any{"name": name, "execution-mode": "local"},
		Relationships: make(map[string]related)}
	if len(s.tags) > 0 {
		in.Relationships["tags"] = related{tagList(s.tags)}
	}
	if project != "" {
		in.Relationships["project"] = related{json.RawMessage(`{"type":"projects","id":` +
			strconv.Quote(project) + `}`)}
	}
	made := new(resource)
	_, _, err = s.call(ctx, http.MethodPost, s.collection(), map[string]any{"data": in}, made)
	if err != nil { // an earlier attempt or another process may have created it
		if w, findErr := s.find(ctx, name); findErr == nil && w != nil {
			return nil
		}
	}
	if err != nil {
		return fmt.Errorf("creating the workspace %q: %w", name, s.organizationError(err))
	}
	s.learn(newWorkspace(made))
	return nil
}

func tagList(names []string) json.RawMessage {
	items := []resource{}
	for _, name := range names {
		items = append(items, resource{Type: "tags", Attributes: map[string]any{"name": name}})
	}
	text, err := json.Marshal(items)
	if err != nil {
		panic("unreachable: tags are text: " + err.Error())
	}
	return text
}

// addTags adds the configured tags that a workspace lacks.
func (s *Store) addTags(ctx context.Context, w *workspace) error {
	missing := slices.DeleteFunc(slices.Clone(s.tags), func(tag string) bool { return slices.Contains(w.tags, tag) })
	if len(missing) == 0 {
		return nil
	}
	_, _, err := s.call(ctx, http.MethodPost, "workspaces/"+w.id+"/relationships/tags",
		map[string]any{"data": tagList(missing)}, nil)
	if err != nil {
		return fmt.Errorf("adding tags to the workspace %q: %w", w.name, err)
	}
	w.tags = append(w.tags, missing...)
	return nil
}

// LocalOperations implements backend.Runner.
func (s *Store) LocalOperations(ctx context.Context, local string) error {
	if force, _ := strconv.ParseBool(os.Getenv("TF_FORCE_LOCAL_BACKEND")); force {
		return nil
	}
	name, ok := s.serviceName(local)
	if !ok {
		return s.impossible(local)
	}
	w, err := s.find(ctx, name)
	if err != nil || w == nil || w.mode == "local" || w.mode == "" {
		return err
	}
	return fmt.Errorf("the workspace %q has the execution mode %q: %s runs its operations, and this program can't "+
		"start them there. Set its execution mode to \"local\" in the settings of the workspace, or set "+
		"TF_FORCE_LOCAL_BACKEND=1 to run this operation here", w.name, w.mode, s.host)
}

// Delete implements backend.Store. The service deletes the workspace with its states.
func (s *Store) Delete(ctx context.Context, local string) error {
	name, ok := s.serviceName(local)
	if !ok {
		return nil // there is nothing to delete
	}
	w, err := s.find(ctx, name)
	if err != nil || w == nil {
		return err
	}
	_, _, err = s.call(ctx, http.MethodDelete, s.collection()+"/"+url.PathEscape(name), nil, nil)
	if err != nil && !hasStatus(err, http.StatusNotFound) {
		return fmt.Errorf("deleting the workspace %q: %w", name, err)
	}
	s.forget(name)
	return nil
}
