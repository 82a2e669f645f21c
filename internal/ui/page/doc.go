// Package page writes a plan or a graph as one HTML page that works without a network. The page
// shows the graph of modules and resources, colored by action, with search, filters, paths, and
// the differences of each object. [Write] writes a page about one root module. [WriteEstate]
// writes a page about many, which begins with the graph of root modules. Their modules,
// resources and outputs are parts of one graph and one tree.
//
// The page consists of the style and the script in this directory (page.css, page.js), and of
// the content as JSON in script elements that browsers don't run. The differences of objects
// are in chunks that the script reads only when it needs them, so that a page with many objects
// opens quickly.
//
// Invariants: the page loads nothing from a network. Its content-security policy forbids all
// sources, and allows only the script and the style of the page, by their hashes. The script
// creates nodes and sets their text. It never parses markup, and the policy forbids this too.
// So nothing in a configuration or a plan can become part of the page's code. The page contains
// no sensitive or ephemeral values. The script is smaller than 100 KB. Writing a page takes
// time linear in the number of nodes, edges and changes. With many root modules, only one at a
// time is in memory: its differences are written at once, and the overview is written last.
package page
