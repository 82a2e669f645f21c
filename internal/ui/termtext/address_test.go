package termtext

import "testing"

func TestCutAddress(t *testing.T) {
	const address = `module.a_quite_long_module["production-us-east"].cloud_server.a_resource_with_a_long_name`
	for _, test := range []struct {
		address string
		columns int
		want    string
	}{
		{address, 100, address},
		{address, 60, `module…_long_module["production-us-east"].cloud…_a_long_name`},
		{address, 30, `m…le["production-us-east"].…me`},
		{address, 29, `module.a_…ce_with_a_long_name`}, // too narrow for the key
		{`cloud_server.a_resource_with_a_long_name["a.b[0]\"]"]`, 30, `cloud…a_long_name["a.b[0]\"]"]`},
		{`cloud_server.a_resource_with_a_long_name[12]`, 20, `cloud…_long_name[12]`},
		{"cloud_server.web", 10, "clo…er.web"},
	} {
		got := CutAddress(test.address, test.columns)
		if got != test.want || Width(got) > test.columns {
			t.Errorf("%s in %d columns: got %s (%d)", test.address, test.columns, got, Width(got))
		}
	}
}
