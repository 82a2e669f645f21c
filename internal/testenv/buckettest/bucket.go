// Package buckettest keeps the objects of a bucket in memory and answers requests for them. It is
// shared by the test servers of object stores whose protocol is that of S3 with other header names.
// These servers check the signatures themselves. It is for tests only.
//
// Invariants: an object is replaced whole; a page of a list has at most two objects.
package buckettest

import (
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Object is an object with the headers that were stored with it.
type Object struct {
	Data   []byte
	Header http.Header
	ETag   string
}

// Bucket is a bucket. It isn't safe for concurrent use.
type Bucket struct {
	// Keeps reports whether the header with this canonical name is stored with an object.
	Keeps func(name string) bool
	// OnlyNew is the header that makes a write fail if the object exists.
	OnlyNew string
	// Complete adds headers that the service computes, such as the checksum, to an object. It may
	// be nil.
	Complete func(o *Object)

	objects map[string]*Object
	last    int
}

// Objects returns the objects by key.
func (b *Bucket) Objects() map[string]Object {
	out := make(map[string]Object)
	for key, o := range b.objects {
		out[key] = *o
	}
	return out
}

// Refuse returns a function that responds with an error document.
func Refuse(w http.ResponseWriter, status int, code, message string) func() {
	return func() {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, message)
	}
}

// Carry carries out a request for an object, or for the list of objects if key is "". It returns a
// function that writes the response.
func (b *Bucket) Carry(w http.ResponseWriter, r *http.Request, key string, body []byte) func() {
	if key == "" {
		return b.list(w, r)
	}
	o := b.objects[key]
	switch r.Method {
	case http.MethodPut:
		return b.put(w, r, key, body)
	case http.MethodDelete:
		delete(b.objects, key)
		return func() { w.WriteHeader(http.StatusNoContent) }
	}
	if o == nil {
		return Refuse(w, http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	}
	return func() {
		maps.Copy(w.Header(), o.Header)
		w.Header().Set("ETag", o.ETag)
		w.Header().Set("Content-Length", strconv.Itoa(len(o.Data)))
		if r.Method == http.MethodGet {
			_, _ = w.Write(o.Data)
		}
	}
}

func (b *Bucket) put(w http.ResponseWriter, r *http.Request, key string, body []byte) func() {
	if b.objects[key] != nil && r.Header.Get(b.OnlyNew) == "true" {
		return Refuse(w, http.StatusConflict, "FileAlreadyExists", "The object you specified already exists.")
	}
	b.last++
	o := &Object{Data: body, Header: make(http.Header), ETag: fmt.Sprintf(`"%d"`, b.last)}
	for name, values := range r.Header {
		if b.Keeps(name) {
			o.Header[name] = values
		}
	}
	if b.Complete != nil {
		b.Complete(o)
	}
	if b.objects == nil {
		b.objects = make(map[string]*Object)
	}
	b.objects[key] = o
	return func() {
		maps.Copy(w.Header(), o.Header)
		w.Header().Set("ETag", o.ETag)
	}
}

func (b *Bucket) list(w http.ResponseWriter, r *http.Request) func() {
	const pageSize = 2
	type content struct{ Key string }
	var page struct {
		XMLName     xml.Name `xml:"ListBucketResult"`
		IsTruncated bool
		NextMarker  string `xml:",omitempty"`
		Contents    []content
	}
	var keys []string
	for key := range b.objects {
		if strings.HasPrefix(key, r.URL.Query().Get("prefix")) && key > r.URL.Query().Get("marker") {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if len(keys) > pageSize {
		keys, page.IsTruncated, page.NextMarker = keys[:pageSize], true, keys[pageSize-1]
	}
	for _, key := range keys {
		page.Contents = append(page.Contents, content{key})
	}
	return func() { _ = xml.NewEncoder(w).Encode(page) }
}
