package hclfmt_test

import (
	"fmt"

	"tofu/internal/hclfmt"
)

func ExampleFormat() {
	source := "resource \"aws_instance\" \"a\" {\n    ami=\"ami-1\"\n  instance_type = \"${var.type}\"\n}\n"
	formatted, err := hclfmt.Format([]byte(source), "main.tf")
	fmt.Print(string(formatted), err)
	// Output:
	// resource "aws_instance" "a" {
	//   ami           = "ami-1"
	//   instance_type = var.type
	// }
	// <nil>
}
