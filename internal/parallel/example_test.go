package parallel_test

import (
	"fmt"

	"tofu/internal/parallel"
)

func ExampleEach() {
	words := []string{"plan", "apply", "destroy"}
	lengths := make([]int, len(words)) // each call writes its own element
	parallel.Each(len(words), 2, func(i int) { lengths[i] = len(words[i]) })
	fmt.Println(lengths)
	// Output: [4 5 7]
}

func ExampleInOrder() {
	lines := parallel.InOrder(func(i int, text string) { fmt.Println(i, text) })
	lines.Add(2, "destroy")
	lines.Add(0, "plan")
	lines.Add(1, "apply")
	// Output:
	// 0 plan
	// 1 apply
	// 2 destroy
}
