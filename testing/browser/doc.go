// Package browser tests the HTML pages that the program writes, in a real browser: headless
// Chromium. It is a separate Go module, so the program itself doesn't depend on the library that
// controls the browser.
//
// The tests build the program, make it write pages, and use the pages as people would. Without
// Chromium they are skipped, or fail if REQUIRE_SERVICES is set.
package browser
