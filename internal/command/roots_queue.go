package command

import (
	"bytes"
	"io"
	"sync"

	"tofu/internal/parallel"
	"tofu/internal/roots"
)

// eachInOrder calls do for at most workers root modules at a time. It calls report for each of
// them, in the order of the list, with the output and the error of do. Calls of report don't
// overlap.
func eachInOrder(
	list []*roots.Root, workers int, do func(r *roots.Root, out io.Writer) error,
	report func(r *roots.Root, text []byte, err error),
) {
	type outcome struct {
		text bytes.Buffer
		err  error
		done bool
	}
	outcomes := make([]outcome, len(list))
	var mu sync.Mutex
	next := 0
	parallel.Each(len(outcomes), workers, func(i int) {
		o := &outcomes[i]
		o.err = do(list[i], &o.text)
		mu.Lock()
		defer mu.Unlock()
		o.done = true
		for ; next < len(outcomes) && outcomes[next].done; next++ {
			report(list[next], outcomes[next].text.Bytes(), outcomes[next].err)
			outcomes[next].text = bytes.Buffer{}
		}
	})
}
