package enginetest

import (
	"fmt"
	"strings"

	"golang.org/x/tools/txtar"
)

// ApplyBefore applies the first of two configurations in an archive, and returns the session and
// the files of the second. The sections before.tf and before/FILE hold the first configuration, and
// after.tf and after/FILE the second. Without the "before" sections, nothing is applied; without
// the "after" sections, both configurations are the same. dir is an empty directory for
// configurations.
func ApplyBefore(in *txtar.Archive, dir string) (s *Session, after map[string]string, err error) {
	files := map[string]map[string]string{"before": {}, "after": {}}
	for _, f := range in.Files {
		where, file, inDir := strings.Cut(f.Name, "/")
		if !inDir {
			where, file = strings.TrimSuffix(f.Name, ".tf"), "main.tf"
		}
		if files[where] != nil {
			files[where][file] = string(f.Data)
		}
	}
	if len(files["after"]) == 0 {
		files["after"] = files["before"]
	}
	s = NewSession(dir)
	if len(files["before"]) == 0 {
		return s, files["after"], nil
	}
	got, err := s.Do(&Step{Files: files["before"]})
	if err != nil || strings.Contains(got.Problems, "error") {
		return nil, nil, fmt.Errorf("applying the first configuration: %v, %+v", err, got)
	}
	return s, files["after"], nil
}
