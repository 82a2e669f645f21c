package addrs_test

import (
	"slices"
	"strings"
	"testing"

	"tofu/internal/addrs"
)

func TestSortByModuleTree(t *testing.T) {
	want := []string{
		`data.a.z`, `a.b[2]`, `a.b[10]`, `b.a`,
		`module.a["B"].data.a.z`, `module.a["B"].a.b`, `module.m[2].a.b`, `module.m[10].a.b`,
		`module.a["z"].module.n.a.b`, `module.m[2].module.n.a.b`,
	}
	var list []addrs.AbsInstance
	for _, text := range want {
		addr, err := addrs.ParseInstanceText(text)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, addr)
	}
	slices.Reverse(list)
	addrs.SortByModuleTree(list, func(addr addrs.AbsInstance) addrs.AbsInstance { return addr })
	var got []string
	for _, addr := range list {
		got = append(got, addr.String())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
