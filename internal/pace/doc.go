// Package pace decides how many calls each provider gets at a time and per second. All operations of a
// run share one [Slots].
//
//	slots := pace.New(limits)
//	slot := slots.Acquire("hashicorp/aws", pace.Read)
//	err := read()
//	slot.Release()
//	slots.Done("hashicorp/aws", pace.Result{Kind: pace.Read, Took: took, Throttled: isThrottled(err)})
//
// Without limits of the user, ten changes run at a time, and reads have slots of their own: ten for each
// provider at first, and more as long as its calls don't get slower. A provider that refuses calls,
// because there are too many of them, gets half as many, and recovers step by step. Providers that
// refuse by calls per second are given a rate below the one that they have shown to accept.
//
// Invariants: a provider never has more calls than its limit; a caller that waits for one provider
// holds no slot that another could use; those who wait for a provider are served in order.
package pace
