package notes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// note is the content of a note's file.
type note struct {
	Title       string            `json:"title"`
	Body        string            `json:"body,omitempty"`
	Secret      string            `json:"secret,omitempty"`
	Priority    int               `json:"priority"`
	Pinned      bool              `json:"pinned"`
	Tags        []string          `json:"tags,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Sections    []section         `json:"sections,omitempty"`
	Links       []link            `json:"links,omitempty"`
	Reminder    *reminder         `json:"reminder,omitempty"`
	Attachments []attachment      `json:"attachments,omitempty"`
	Author      string            `json:"author"`
	Revision    int               `json:"revision"`
}

type section struct {
	Heading string `json:"heading"`
	Text    string `json:"text,omitempty"`
	Done    bool   `json:"done,omitempty"`
}

type link struct {
	URL string `json:"url"`
	Rel string `json:"rel"`
}

type reminder struct {
	At    string `json:"at"`
	Every string `json:"every,omitempty"`
}

type attachment struct {
	Name string `json:"name"`
	Size int    `json:"size"`
}

// store is the directory that contains the notes.
type store struct{ folder string }

var keyPattern = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)

// file returns the path of the note with the given key.
func (s store) file(key string) string { return filepath.Join(s.folder, key+".json") }

// read returns a note. The error wraps fs.ErrNotExist if the note does not exist.
func (s store) read(key string) (n note, err error) {
	data, err := os.ReadFile(s.file(key))
	if err != nil {
		return n, err
	}
	if err := json.Unmarshal(data, &n); err != nil {
		return n, fmt.Errorf("%s is not a note: %w", s.file(key), err)
	}
	return n, nil
}

// create writes a new note. It returns an error if the note exists. It creates the directory if
// necessary.
func (s store) create(key string, n note) error {
	if err := os.MkdirAll(s.folder, 0o755); err != nil {
		return err
	}
	if _, err := os.Stat(s.file(key)); err == nil {
		return fmt.Errorf("the note %s already exists; import it", key)
	}
	return s.write(key, n)
}

// write replaces a note atomically.
func (s store) write(key string, n note) error {
	data, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return err
	}
	temporary := s.file("." + key)
	if err := os.WriteFile(temporary, append(data, '\n'), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, s.file(key))
}

// remove deletes a note. If it was the last note, it also deletes the directory.
func (s store) remove(key string) error {
	if err := os.Remove(s.file(key)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(s.folder) // fails while other notes exist
	return nil
}

// tagged returns the sorted keys of the notes that have a tag, or of all notes if tag is empty.
func (s store) tagged(tag string) ([]string, error) {
	entries, err := os.ReadDir(s.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var keys []string
	for _, e := range entries {
		key, ok := strings.CutSuffix(e.Name(), ".json")
		if !ok || !keyPattern.MatchString(key) {
			continue
		}
		n, err := s.read(key)
		if err != nil {
			return nil, err
		}
		if i := sort.SearchStrings(n.Tags, tag); tag == "" || i < len(n.Tags) && n.Tags[i] == tag {
			keys = append(keys, key)
		}
	}
	return keys, nil
}
