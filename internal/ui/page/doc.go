// Package page writes a plan or a graph as one HTML page that works without a network: the graph of
// modules and resources, colored by action, with search, filters, paths, and the difference of each
// object. [Write] is for one root module. [WriteEstate] is for many, and begins with their
// graph; their modules, resources and outputs are parts of one graph and one tree.
//
// The page is a skeleton with the style and the script in this folder (page.css, page.js) and the
// content as JSON in script elements that browsers don't run. The difference of each object is in
// chunks that the script reads when they are needed, so that a page with many objects opens
// quickly.
//
// Invariants: the page loads nothing. Its content-security policy allows no source, and only the
// one script and the one style by their hashes. The script creates nodes and sets their text; it
// never parses markup, which the policy enforces too. So nothing in a configuration or a plan can
// become part of the page. Sensitive and ephemeral values are not in the page at all. The script is
// smaller than 100 KB, and the cost is nodes, edges and changes. Of many root modules, one at a time
// is held as a whole: the differences are written as they come, and the overview at the end.
package page
