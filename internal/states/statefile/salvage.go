package statefile

import (
	"bytes"
	"encoding/json"
	"fmt"

	"tofu/internal/states"
)

// Salvage reads what can be read of a damaged state of version 4: everything up to where the text breaks off or stops to be JSON, but
// for the objects and outputs that can't be what they are said to be. The problems say what is missing.
func Salvage(data []byte) (*File, []string) {
	s := &salvage{data: data, text: json.NewDecoder(bytes.NewReader(data)), d: newDecoder(), file: &File{State: states.New()}}
	if err := s.members(s.top); err != nil {
		s.problem("from %s on the text can't be read: %s", place(data, s.text.InputOffset()), err)
	}
	s.file.State.Prune()
	return s.file, s.problems
}

// salvage is the state of a Salvage.
type salvage struct {
	data     []byte
	text     *json.Decoder
	d        *decoder
	file     *File
	problems []string
}

func (s *salvage) problem(format string, args ...any) {
	s.problems = append(s.problems, fmt.Sprintf(format, args...))
}

// members goes through the members of the object that comes next. read reads the value of each.
func (s *salvage) members(read func(name string) error) error {
	return s.between('{', func() error {
		name, err := s.text.Token()
		if err != nil {
			return err
		}
		text, ok := name.(string)
		if !ok {
			return fmt.Errorf("%v where a name should be", name)
		}
		return read(text)
	})
}

// between reads an object or a list, whose parts are read by part.
func (s *salvage) between(open json.Delim, part func() error) error {
	token, err := s.text.Token()
	if err == nil && token != open {
		err = fmt.Errorf("%v where %v should be", token, open)
	}
	for err == nil && s.text.More() {
		err = part()
	}
	if err == nil {
		_, err = s.text.Token()
	}
	return err
}

// top reads one member of the whole.
func (s *salvage) top(name string) error {
	switch name {
	case "resources":
		return s.between('[', s.resource)
	case "outputs":
		return s.members(s.output)
	}
	var raw json.RawMessage
	if err := s.text.Decode(&raw); err != nil {
		return err
	}
	var err error
	switch name {
	case "serial":
		err = json.Unmarshal(raw, &s.file.Serial)
	case "lineage":
		err = json.Unmarshal(raw, &s.file.Lineage)
	case "terraform_version":
		err = json.Unmarshal(raw, &s.file.TerraformVersion)
	}
	if err != nil {
		s.problem("%q can't be read: %s", name, err)
	}
	return nil
}

func (s *salvage) output(name string) error {
	var raw json.RawMessage
	if err := s.text.Decode(&raw); err != nil {
		return err
	}
	whole, err := json.Marshal(map[string]any{"outputs": map[string]json.RawMessage{name: raw}})
	var one fileV4
	if err == nil {
		err = json.Unmarshal(whole, &one)
	}
	var file *File
	if err == nil {
		file, err = one.decode()
	}
	if err != nil {
		s.problem("the output value %q is left out: %s", name, err)
		return nil
	}
	s.file.State.SetOutput(name, file.State.Output(name))
	return nil
}

// resource reads one resource with its instances, of which one that is damaged doesn't take the others along.
func (s *salvage) resource() error {
	head := make(map[string]json.RawMessage)
	var instances []json.RawMessage
	broken := s.members(func(name string) error {
		if name == "instances" {
			return s.between('[', func() error {
				var raw json.RawMessage
				err := s.text.Decode(&raw)
				if err == nil {
					instances = append(instances, raw)
				}
				return err
			})
		}
		var raw json.RawMessage
		err := s.text.Decode(&raw)
		head[name] = raw
		return err
	})
	for _, raw := range instances {
		s.instance(head, raw)
	}
	return broken
}

func (s *salvage) instance(head map[string]json.RawMessage, raw json.RawMessage) {
	whole := map[string]any{"instances": []json.RawMessage{raw}}
	for name, value := range head {
		whole[name] = value
	}
	text, err := json.Marshal(whole)
	var one resourceV4
	if err == nil {
		err = json.Unmarshal(text, &one)
	}
	if err == nil {
		err = s.d.resource(s.file.State, &one)
	}
	if err != nil {
		s.problem("an object of %s.%s is left out: %s", head["type"], head["name"], err)
	}
}
