package funcs_test

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/funcs"
)

func Example() {
	table := funcs.Table(funcs.Options{})
	v, err := table["strrev"].Call([]cty.Value{cty.StringVal("abc")})
	fmt.Println(v.AsString(), err)
	_, ok := table[funcs.Namespace+"strrev"]
	fmt.Println(ok)
	// Output:
	// cba <nil>
	// true
}
