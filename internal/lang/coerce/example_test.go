package coerce_test

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"

	"tofu/internal/lang/coerce"
)

func ExampleConvert() {
	tuple := cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.NumberIntVal(1)})
	list, err := coerce.Convert(tuple, cty.List(cty.DynamicPseudoType))
	fmt.Printf("%#v %v\n", list, err)
	// Output: cty.ListVal([]cty.Value{cty.StringVal("a"), cty.StringVal("1")}) <nil>
}
