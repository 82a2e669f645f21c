package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"tofu/internal/limits"
	"tofu/internal/restapi"
)

// mediaType is the media type of requests and responses.
const mediaType = "application/vnd.api+json"

// maxDocument is the maximum size of a document in bytes. A document may contain all outputs of a
// state.
const maxDocument = 64 << 20

// resource is a resource object of JSON:API, such as a workspace or a version of a state.
type resource struct {
	ID            string             `json:"id,omitempty"`
	Type          string             `json:"type"`
	Attributes    map[string]any     `json:"attributes,omitempty"`
	Relationships map[string]related `json:"relationships,omitempty"`
}

// related is what a resource refers to: one resource, several or none.
type related struct {
	Data json.RawMessage `json:"data"`
}

// document is the body of a request or a response.
type document struct {
	Data     json.RawMessage `json:"data,omitempty"`
	Included []resource      `json:"included,omitempty"`
	Meta     struct {
		Pagination struct {
			NextPage int `json:"next-page"`
		} `json:"pagination"`
	} `json:"meta,omitzero"`
	Errors []struct {
		Title  string `json:"title"`
		Detail string `json:"detail"`
	} `json:"errors,omitempty"`
}

func (r *resource) text(name string) string {
	value, _ := r.Attributes[name].(string)
	return value
}

// apiError is an error response of the service.
type apiError struct {
	status int
	text   string
}

func (e *apiError) Error() string { return e.text }

// hasStatus reports whether an error is an error response with the given status.
func hasStatus(err error, status int) bool {
	refused, ok := errors.AsType[*apiError](err)
	return ok && refused.status == status
}

// call sends a request for a path and decodes the response into out. The query is a list of
// alternating names and values; pairs with the value "" are left out. The result repeated reports
// whether the request was sent more than once.
func (s *Store) call(
	ctx context.Context, method, path string, in, out any, query ...string,
) (doc *document, repeated bool, err error) {
	to, err := s.base.Parse(path)
	if err != nil {
		return nil, false, err
	}
	values := make(url.Values)
	for i := 0; i < len(query); i += 2 {
		if query[i+1] != "" {
			values.Set(query[i], query[i+1])
		}
	}
	to.RawQuery = values.Encode()
	r := &restapi.Request{Method: method, URL: to, Limit: maxDocument,
		Header: http.Header{"Accept": {mediaType}, "Authorization": {"Bearer " + s.token}}}
	if in != nil {
		r.Body, err = json.Marshal(in)
		if err != nil {
			return nil, false, err
		}
		r.Header.Set("Content-Type", mediaType)
	}
	resp, err := s.client.Do(ctx, r)
	if err != nil {
		return nil, false, err
	}
	doc = new(document)
	jsonErr := json.Unmarshal(resp.Body, doc)
	switch {
	case resp.Status >= http.StatusMultipleChoices:
		return nil, resp.Repeated, s.failure(resp, doc)
	case out != nil && jsonErr == nil:
		jsonErr = json.Unmarshal(doc.Data, out)
	case out == nil:
		return doc, resp.Repeated, nil
	}
	if jsonErr != nil {
		return nil, resp.Repeated, fmt.Errorf("the response from %s is invalid: %w", s.host, jsonErr)
	}
	return doc, resp.Repeated, nil
}

// failure returns the error for an unsuccessful response.
func (s *Store) failure(resp *restapi.Response, doc *document) error {
	err := &apiError{status: resp.Status, text: resp.Failure().Error()}
	var texts []string
	for _, e := range doc.Errors {
		text := e.Detail
		if text == "" {
			text = e.Title
		}
		texts = append(texts, text)
	}
	if texts != nil {
		err.text = fmt.Sprintf("%s refused the request (status %d): %s", s.host, resp.Status, strings.Join(texts, "; "))
	}
	switch resp.Status {
	case http.StatusUnauthorized:
		err.text += fmt.Sprintf(". The token is invalid or has expired; run \"tofu login %s\" for a new one", s.host)
	case http.StatusForbidden:
		err.text += ". The user of the token doesn't have this permission"
	}
	return err
}

// download reads a state from the address that the service names.
func (s *Store) download(ctx context.Context, address string) ([]byte, error) {
	r, err := s.transfer(http.MethodGet, address)
	if err != nil {
		return nil, err
	}
	r.Limit = limits.State
	resp, err := s.client.Do(ctx, r)
	switch {
	case err != nil:
		return nil, err
	case resp.Status != http.StatusOK:
		return nil, s.failure(resp, new(document))
	}
	return resp.Body, nil
}

// upload writes a state to the address that the service names.
func (s *Store) upload(ctx context.Context, address string, data []byte) error {
	r, err := s.transfer(http.MethodPut, address)
	if err != nil {
		return err
	}
	r.Body = data
	r.Header.Set("Content-Type", "application/octet-stream")
	resp, err := s.client.Do(ctx, r)
	if err == nil && resp.Status >= http.StatusMultipleChoices {
		err = s.failure(resp, new(document))
	}
	return err
}

// transfer returns a request for an address of a state. The token is not sent to other hosts.
func (s *Store) transfer(method, address string) (*restapi.Request, error) {
	to, err := s.base.Parse(address)
	if err != nil || to.Scheme != "https" && to.Scheme != s.base.Scheme {
		return nil, fmt.Errorf("%s returned an invalid address for the state", s.host)
	}
	r := &restapi.Request{Method: method, URL: to, Header: make(http.Header)}
	if to.Host == s.base.Host && to.Scheme == s.base.Scheme {
		r.Header.Set("Authorization", "Bearer "+s.token)
	}
	return r, nil
}

// each passes each resource of a collection to the function found. It reads the collection page by
// page.
func (s *Store) each(ctx context.Context, path string, found func(r *resource), query ...string) error {
	for page := 1; page != 0; {
		var items []resource
		doc, _, err := s.call(ctx, http.MethodGet, path, nil, &items,
			append([]string{"page[size]", "100", "page[number]", strconv.Itoa(page)}, query...)...)
		if err != nil {
			return err
		}
		for i := range items {
			found(&items[i])
		}
		next := doc.Meta.Pagination.NextPage
		if next != 0 && next <= page {
			return fmt.Errorf("%s keeps returning the same page of the list", s.host)
		}
		page = next
	}
	return nil
}
