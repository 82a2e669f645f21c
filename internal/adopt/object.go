package adopt

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"tofu/internal/addrs"
	"tofu/internal/tfdiags"
)

// Object is an existing object.
type Object struct {
	Type     string
	Source   addrs.Provider // the provider that found it
	Provider string         // reference to its provider configuration, such as aws or aws.west
	Name     string         // what people call it; may be empty
	ID       string         // import ID; "" if Identity is set
	Identity cty.Value      // cty.NilVal if ID is set
	Value    cty.Value      // unmarked, without secrets; Unknown until it is known

	Addr addrs.AbsInstance // where it is imported; set by Arrange
}

// Unknown is the value of an object that nothing has read yet.
var Unknown = cty.NilVal

// String names the object in messages.
func (o *Object) String() string {
	id := o.ID
	if id == "" {
		id = identityText(o.Identity)
	}
	return o.Type + " " + id
}

// identityText returns an identity as a JSON object without the attributes that are null. Equal
// identities have equal texts.
func identityText(v cty.Value) string {
	if v == cty.NilVal || v.IsNull() {
		return ""
	}
	attrs := v.AsValueMap()
	for name, attr := range attrs {
		if attr.IsNull() {
			delete(attrs, name)
		}
	}
	object := cty.ObjectVal(attrs)
	text, err := ctyjson.Marshal(object, object.Type())
	if err != nil {
		return ""
	}
	return compactIdentity(text)
}

// compactIdentity returns the JSON text of an identity with sorted attributes and without those that are
// null.
func compactIdentity(text []byte) string {
	var attrs map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if d.Decode(&attrs) != nil {
		return string(text)
	}
	for name, v := range attrs {
		if v == nil {
			delete(attrs, name)
		}
	}
	out, err := json.Marshal(attrs) // sorts the keys
	if err != nil {
		return string(text)
	}
	return string(out)
}

// ParseIDs reads a list of objects: a type and an import ID on each line, separated by spaces. Empty lines
// and lines that begin with # are ignored. name is the name of the file, for errors.
func ParseIDs(name string, text []byte) ([]*Object, error) {
	var out []*Object
	var errs tfdiags.Diagnostics
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(strings.TrimPrefix(lines.Text(), "\ufeff"))
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		typ, id, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
		if id = strings.TrimSpace(id); id == "" {
			errs.Add(tfdiags.Errorf("Missing import ID", "Line %d of %s is %q. Each line must have a resource type and "+
				"the ID of an object, such as: aws_s3_bucket my-bucket", n, name, line))
			continue
		}
		out = append(out, &Object{Type: typ, ID: id})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return out, errs.Err()
}
