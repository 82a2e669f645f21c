// Package browser tests the pages that the program writes in a real browser, Chromium without a
// window. It is a Go module of its own, so that the program doesn't depend on what drives the
// browser.
//
// The tests build the program, let it write pages, and do what people do with them. They are
// skipped without Chromium, or fail if REQUIRE_SERVICES is set.
package browser
