package roots

import (
	"tofu/internal/addrs"
	"tofu/internal/outputuse"
)

// Outputs is a set of names of outputs of a root module. The zero value is empty.
type Outputs = outputuse.Set

// ReadBy returns the outputs of a terraform_remote_state data source that the root module's
// expressions use. If the data source is not known, it returns all outputs.
func (r *Root) ReadBy(data addrs.ConfigResource) Outputs {
	if used, ok := r.used[data.String()]; ok {
		return used
	}
	return Outputs{All: true}
}

// ReadByVariables returns the outputs of another root module that the values of r's variables use.
func (r *Root) ReadByVariables(of *Root) Outputs {
	var out Outputs
	for _, read := range r.Reads {
		if read.Kind == Variable && read.Root == of {
			out = out.Plus(read.Outputs)
		}
	}
	return out
}

// Uses returns the root modules on which r depends: those that have outputs which r uses, and those
// that r lists in "after". Needs also returns root modules that only come before r, because r has a
// data source that reads their state, but uses none of its outputs.
func (r *Root) Uses() map[*Root]bool {
	out := make(map[*Root]bool)
	for _, read := range r.Reads {
		if read.Root != nil && (read.Kind != RemoteState || !read.Outputs.Empty()) {
			out[read.Root] = true
		}
	}
	return out
}
