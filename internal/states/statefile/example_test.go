package statefile_test

import (
	"fmt"
	"strings"

	"tofu/internal/states/statefile"
	"tofu/internal/version"
)

// A state in an older version is written in version 4.
func Example() {
	old := `{"version": 3, "serial": 7, "lineage": "a1b2", "modules": [{"path": ["root"], "outputs": {
		"address": {"sensitive": false, "type": "string", "value": "10.0.0.1"}}, "resources": {}}]}`
	f, err := statefile.Parse([]byte(old))
	if err != nil {
		fmt.Println(err)
		return
	}
	f.Serial++
	text, err := statefile.Encode(f, &statefile.Options{Indent: true})
	fmt.Print(strings.NewReplacer(version.String, "VERSION", version.Own, "OWN", version.Commit(), "COMMIT").Replace(
		string(text)), err)
	// Output:
	// {
	//   "version": 4,
	//   "terraform_version": "VERSION",
	//   "serial": 8,
	//   "lineage": "a1b2",
	//   "outputs": {
	//     "address": {
	//       "value": "10.0.0.1",
	//       "type": "string"
	//     }
	//   },
	//   "resources": [],
	//   "check_results": null,
	//   "engine": {
	//     "name": "tofu",
	//     "version": "OWN",
	//     "commit": "COMMIT"
	//   }
	// }
	// <nil>
}
