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
