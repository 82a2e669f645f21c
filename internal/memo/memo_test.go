package memo_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"tofu/internal/memo"
)

func TestDo(t *testing.T) {
	var m memo.Map[int, int]
	var runs atomic.Int32
	odd := errors.New("odd")
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			key := i % 10
			v, err := m.Do(key, func() (int, error) {
				runs.Add(1)
				if key%2 == 1 {
					return 0, odd
				}
				// other keys are not blocked
				other, err := m.Do(key+1000, func() (int, error) { return key * key, nil })
				return other, err
			})
			if key%2 == 1 && !errors.Is(err, odd) || key%2 == 0 && (err != nil || v != key*key) {
				t.Errorf("%d: %d, %v", key, v, err)
			}
		})
	}
	group.Wait()
	if n := runs.Load(); n != 10 {
		t.Errorf("%d runs, want 10", n)
	}
}
