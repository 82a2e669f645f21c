package addrs_test

import (
	"fmt"

	"tofu/internal/addrs"
)

func ExampleParseTargetText() {
	target, err := addrs.ParseTargetText(`module.network["eu"].aws_subnet.a`)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, text := range []string{`module.network["eu"].aws_subnet.a[1]`, `module.network["us"].aws_subnet.a[1]`} {
		addr, _ := addrs.ParseInstanceText(text)
		fmt.Println(target.ContainsInstance(addr), addr)
	}
	// Output:
	// true module.network["eu"].aws_subnet.a[1]
	// false module.network["us"].aws_subnet.a[1]
}
