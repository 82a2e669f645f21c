// Package repeat stands between the engine and a provider. It repeats calls that are safe to repeat, when
// the provider's error says that it may help, and tells the limits of package pace how calls went.
//
//	impl = repeat.Provider(impl, "hashicorp/aws", slots, recorder)
//
// Invariants: only reads of objects and data sources, validations and plans are repeated, never a call
// that may have changed something: of creations only those that, as the provider says, made nothing,
// and only if the user wants it (Retry); a call is repeated for a bounded time; when its context ends, it isn't
// repeated any more; the last answer is returned as the provider has given it, with a note on how often it
// was asked. A read whose answer is late is made a second time beside the first.
package repeat
