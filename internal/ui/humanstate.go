package ui

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tofu/internal/addrs"
	"tofu/internal/plans"
	"tofu/internal/states"
	"tofu/internal/ui/planview"
	"tofu/internal/ui/termtext"
	"tofu/internal/ui/valuediff"
)

// stateText writes a state for humans. The caller checks for write errors.
func stateText(out *bufio.Writer, v *StateView, s termtext.Style, showSensitive bool) {
	if v.State.Empty() {
		_, _ = out.WriteString("The state is empty.\n")
		return
	}
	d := &valuediff.Differ{ShowSensitive: showSensitive}
	first := true
	write := func(text string) { // an empty line separates the parts
		if first {
			text = strings.TrimPrefix(text, "\n")
		}
		first = false
		_, _ = out.WriteString(text)
	}
	for _, item := range stateItems(v) {
		if item.inst.Current != nil {
			write(stateObject(v, d, s, item, item.inst.Current, addrs.NotDeposed))
		}
		for _, key := range slices.Sorted(maps.Keys(item.inst.Deposed)) {
			write(stateObject(v, d, s, item, item.inst.Deposed[key], key))
		}
	}
	if names := v.State.OutputNames(); len(names) > 0 && v.Only == nil {
		write("\n\n" + s.As(termtext.Bold, "Outputs:") + "\n\n" + stateOutputs(v.State, names, d, s))
	}
}

// stateItems returns the instances to show, sorted by address.
func stateItems(v *StateView) []stateItem {
	var out []stateItem
	for _, r := range v.State.Sorted() {
		for _, key := range r.SortedKeys() {
			if addr := r.Addr.Instance(key); v.Only == nil || *v.Only == addr {
				out = append(out, stateItem{addr, r.Provider.Provider, r.Instances[key]})
			}
		}
	}
	addrs.SortByModuleTree(out, func(it stateItem) addrs.AbsInstance { return it.addr })
	return out
}

func stateObject(
	v *StateView, d *valuediff.Differ, s termtext.Style, item stateItem, obj *states.Object, deposed addrs.DeposedKey,
) string {
	note := ""
	switch {
	case deposed != addrs.NotDeposed:
		note = fmt.Sprintf(" (deposed object %s)", deposed)
	case obj.Status == states.Tainted:
		note = " (tainted)"
	}
	word := "resource"
	if item.addr.Resource.Mode == addrs.Data {
		word = "data"
	}
	r := &renderer{style: s, full: true}
	fmt.Fprintf(&r.b, "\n# %s:%s\n%s %s %s ", item.addr, note, word, quoted(item.addr.Resource.Type),
		quoted(item.addr.Resource.Name))
	sch := v.Schemas.Resource(item.provider, item.addr.Resource)
	if sch == nil {
		return r.b.String() + "{\n    # (the schema of the provider is not available)\n}\n"
	}
	value, err := obj.Decode(sch.Block.ImpliedType())
	if err != nil {
		return r.b.String() + "{\n    # (" + termtext.Printable(err.Error()) + ")\n}\n"
	}
	value = planview.MarkOutput(value, item.provider, item.addr.Resource)
	r.block(d.Resource(plans.NoOp, value, value, sch.Block, nil), 0)
	return r.b.String() + "\n"
}

func stateOutputs(st *states.State, names []string, d *valuediff.Differ, s termtext.Style) string {
	r := &renderer{style: s, full: true}
	for _, name := range names {
		o := st.Output(name)
		n := valuediff.Leaf(plans.NoOp, valuediff.SensitiveText)
		if !o.Sensitive || d.ShowSensitive {
			n = d.Value(o.Value, o.Value)
		}
		r.b.WriteString(name + " = ")
		r.node(n, 0)
		r.b.WriteByte('\n')
	}
	return r.b.String()
}
