'use strict';
// This is the script of the page. It reads the content from elements that contain JSON. It
// creates nodes and sets their text, but never parses markup.
(() => {
const LIMIT = 500; // maximum number of nodes in a drawing
const PAGE = 200; // number of entries that a list adds at a time
const OPEN = 120; // maximum number of boxes in the first drawing of root modules when folders are opened
const NEAR = 100; // maximum number of neighbors drawn around an open root module
const LABELS = 40; // maximum number of edge labels that are always visible
const SVG = 'http://www.w3.org/2000/svg';

// ---- the content

const $ = (id) => document.getElementById(id);
const data = JSON.parse($('data').textContent);
const { nodes, modules, changes, files, roots } = data;
const hasPlan = data.mode !== '';
const many = !!data.many; // whether the page is about many root modules

const ACTIONS = {
  delete: ['\u2212', 'Destroy'], replace: ['\u00b1', 'Replace'], forget: ['.', 'Forget'], update: ['~', 'Update'],
  create: ['+', 'Create'], read: ['\u2264', 'Read'], move: ['\u2192', 'Move'], import: ['\u21e3', 'Import'],
  deferred: ['\u2026', 'Defer'], none: ['\u00b7', 'No change'],
};
const ORDER = Object.keys(ACTIONS);
const OBJECTS = new Set(['resource', 'data', 'ephemeral']);
const classOf = (change) => change.x || 'none';

const EDGE = 4; // elements of data.edges for each edge: from, to, file and line
const edgeCount = data.edges.length / EDGE;
const from = (e) => data.edges[e * EDGE];
const to = (e) => data.edges[e * EDGE + 1];
const needs = nodes.map(() => []);
const users = nodes.map(() => []);
for (let e = 0; e < edgeCount; e++) {
  needs[from(e)].push(e);
  users[to(e)].push(e);
}
// The tree of modules. On a page about many root modules, these and folders for parts of their
// names are above their modules.
modules.forEach((m) => { m.children = []; m.nodes = []; });
modules.forEach((m, id) => {
  const up = modules[m.p];
  m.isRoot = m.r !== undefined;
  m.root = m.isRoot ? m.r : up ? up.root : many ? -1 : 0;
  // Address within its root module.
  m.path = m.root < 0 || m.isRoot || !up ? '' : (up.path ? up.path + '.' : '') + 'module.' + m.n;
  m.name = m.f ? (up.f ? up.name : '') + m.n + '/' : m.isRoot ? m.n : m.path || (many ? 'all root modules' : 'root module');
  if (up) up.children.push(id);
});
roots.forEach((r) => { r.nodes = []; });
nodes.forEach((n, id) => {
  n.root = modules[n.m].root;
  roots[n.root].nodes.push(id);
  modules[n.m].nodes.push(id);
  n.changes = [];
  for (let i = 0; i < (n.n || 0); i++) {
    n.changes.push((n.c || 0) + i);
    changes[(n.c || 0) + i].node = id;
  }
});

// The outputs that change, in the order of the root modules. Each is linked to its node.
const outputs = roots.flatMap((r, root) => (r.o || []).map((o, i) => ({ root, a: o.a, x: o.x, at: (r.f || 0) + i })));
roots.forEach((r) => { r.outputs = []; });
outputs.forEach((o, id) => roots[o.root].outputs.push(id));
{
  const byName = new Map(outputs.map((o, id) => [o.root + ' output.' + o.a, id]));
  nodes.forEach((n) => { if (n.k === 'output') n.output = byName.get(n.root + ' ' + n.a); });
}
const readAt = new Map((data.reads || []).map((read) => [read.e, read])); // what root modules read, by edge

const place = (file, line) => (file < 0 || file === undefined ? '' : files[file] + ':' + line);
const nodePlace = (n) => place(n.f, n.l);
const moduleName = (m) => modules[m].name;
// full returns the address of a node. On a page about many root modules, it includes the root
// module.
const full = (n) => (many && n.k !== 'root' ? roots[n.root].n + ': ' + n.a : n.a);
const fullChange = (c) => (many ? roots[nodes[c.node].root].n + ': ' + c.a : c.a);
const inside = (m, outer) => { for (; m >= 0; m = modules[m].p) if (m === outer) return true; return false; };

const chunks = new Map();
function difference(kind, at) {
  const id = kind + '-' + Math.floor(at / data.chunk);
  if (!chunks.has(id)) chunks.set(id, JSON.parse($(id).textContent));
  return chunks.get(id)[at % data.chunk];
}

// ---- elements

// shown replaces characters that change the direction of text with their codes.
const shown = (text) => String(text).replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
  (c) => '\\u' + c.charCodeAt(0).toString(16));

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null) element.setAttribute(name, value);
  }
  for (const child of children) {
    if (child === null || child === undefined || child === '') continue;
    element.append(child instanceof Node ? child : shown(child));
  }
  return element;
}
const el = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
// broken returns an address in parts between which a line may end: after dots, unless they are in a key.
const broken = (address) => address.split(/(?<=\.)(?![^[]*\])/).flatMap((part, i) => (i ? [el('wbr'), part] : [part]));
const say = (text) => { $('status').textContent = shown(text); };
const plural = (n, word) => n.toLocaleString('en') + ' ' + word + (n === 1 ? '' : 's');
// resourceCount counts the resources that nodes belong to. A resource may have several nodes,
// for its instances.
const resourceCount = (list) => plural(new Set(list.map((n) => n.r || n.a)).size, 'resource');
const seconds = (d) => (d < 10 ? d.toFixed(1) : Math.round(d)) + ' s';

// ---- what is shown

const state = {
  off: new Set(hasPlan ? ['none'] : []), // hidden actions
  query: '', type: '', module: '',
  root: many ? -1 : 0, // position of the open root module; -1 for the graph of root modules
  unchanged: true, // whether root modules without changes are shown
  expanded: new Set(), // open modules
  only: null, // {nodes, edges, text} of a neighborhood or path that is shown instead of everything
  selected: null, // {node}, {change}, {module}, {root} or {output}
  list: false,
};

const words = () => state.query.toLowerCase().split(/\s+/).filter(Boolean);
const matches = (text, all) => { const t = text.toLowerCase(); return all.every((w) => t.includes(w)); };

// scope returns the part of the tree that the graph shows.
const scope = () => (many && state.root >= 0 ? roots[state.root].m : 0);

// chosen says for each module whether it is in the module that the filter selects.
let chosen = null;
function chooseModule(path) {
  state.module = path;
  chosen = null;
  if (!path) return;
  chosen = new Uint8Array(modules.length);
  modules.forEach((m, id) => {
    if (m.path === path || m.p >= 0 && chosen[m.p]) chosen[id] = 1;
    if (m.path === path) for (let at = id; at >= 0; at = modules[at].p) state.expanded.add(at);
  });
}

// passes reports whether the filters show a node. It ignores the search.
function passes(n) {
  if (!OBJECTS.has(n.k)) return false;
  if (many && state.root >= 0 && n.root !== state.root) return false;
  if (state.type && n.t !== state.type) return false;
  if (chosen && !chosen[n.m]) return false;
  if (!n.changes.length) return !hasPlan || !state.off.has('none');
  return n.changes.some((c) => !state.off.has(classOf(changes[c])));
}

// tally counts changes by action.
function tally(ids) {
  const counts = new Map();
  for (const id of ids) for (const c of nodes[id].changes) counts.set(classOf(changes[c]), (counts.get(classOf(changes[c])) || 0) + 1);
  return ORDER.filter((a) => counts.has(a)).map((a) => [a, counts.get(a)]);
}

// items returns the items to draw: nodes, and closed modules or root modules that stand for
// everything in them. The members of an item are the nodes in it that pass the filters. Its
// owned nodes are all nodes that it represents in the graph.
function items() {
  if (state.only) return state.only.nodes.slice(0, LIMIT).map((id) => ({ node: id, members: [id], owned: [id] }));
  const units = many && state.root < 0 ? rootUnits() : nodeUnits();
  const near = many && state.root >= 0 ? neighbors() : [];
  for (;;) {
    const byKey = new Map();
    for (const unit of units) {
      const box = boxOf(unit.m);
      const key = box === null ? 'n' + unit.node : 'm' + box;
      if (!byKey.has(key)) byKey.set(key, { node: box === null ? unit.node : undefined, module: box === null ? undefined : box, members: [], owned: [] });
      const item = byKey.get(key);
      for (const id of unit.members) item.members.push(id);
      for (const id of unit.owned) item.owned.push(id);
    }
    if (byKey.size + near.length <= LIMIT) return [...byKey.values(), ...near];
    const largest = largestExpanded(byKey);
    if (largest === null) {
      say('Only ' + LIMIT + ' of ' + plural(byKey.size + near.length, 'node') + ' are drawn. The list has all of them.');
      return [...byKey.values(), ...near].slice(0, LIMIT);
    }
    state.expanded.delete(largest);
    say(moduleName(largest) + ' has too much to draw at once (' + plural(byKey.size, 'node') + '). The list has all of it.');
  }
}

function nodeUnits() {
  const out = [];
  nodes.forEach((n, id) => { if (passes(n)) out.push({ m: n.m, node: id, members: [id], owned: [id] }); });
  return out;
}

function rootUnits() {
  const out = [];
  roots.forEach((r, i) => {
    const members = r.nodes.filter((id) => passes(nodes[id]));
    if (rootShown(i, members)) out.push({ m: r.m, members, owned: r.nodes });
  });
  return out;
}

// rootShown reports whether the filters show a root module. members are its nodes that pass the
// filters.
function rootShown(i, members) {
  const r = roots[i];
  if (members.length && (!hasPlan || members.some((id) => nodes[id].changes.length))) return true;
  if (state.type || state.module) return members.length > 0;
  if (r.s === 'unchanged') return state.unchanged || !!r.x;
  return r.s !== 'changes' || !r.counts.length; // the changes may be only changes of outputs
}

// neighbors returns items for the root modules that the open one reads, and for those that read
// it.
function neighbors() {
  const at = roots[state.root].k;
  const near = new Set([...needs[at].map((e) => nodes[to(e)].root), ...users[at].map((e) => nodes[from(e)].root)]);
  if (near.size > NEAR) say('Only ' + NEAR + ' of ' + plural(near.size, 'neighbor') + ' are drawn. The panel lists all of them.');
  return [...near].slice(0, NEAR).map((i) => ({ module: roots[i].m, outside: true, members: roots[i].nodes, owned: roots[i].nodes }));
}

// boxOf returns the outermost closed part of the tree that contains m and is within the scope,
// or null. In the graph of root modules, every root module is closed.
function boxOf(m) {
  let box = null;
  const top = scope();
  for (; m >= 0; m = m === top ? -1 : modules[m].p) {
    if (!state.expanded.has(m) || many && state.root < 0 && modules[m].isRoot) box = m;
  }
  return box;
}

// largestExpanded returns the open module with the most items.
function largestExpanded(byKey) {
  const counts = new Map();
  for (const item of byKey.values()) {
    const m = item.module === undefined ? nodes[item.node].m : modules[item.module].p;
    counts.set(m, (counts.get(m) || 0) + 1);
  }
  let best = null;
  for (const [m, count] of counts) if (state.expanded.has(m) && !(many && m === 0) && (best === null || count > counts.get(best))) best = m;
  return best;
}

// links returns the edges between items. An edge may pass through nodes that are not drawn. If
// a root module is open, its edges don't pass through other root modules.
function links(list) {
  const apart = many && state.root >= 0 && !state.only;
  const owner = new Int32Array(nodes.length).fill(apart ? -2 : -1);
  if (apart) roots[state.root].nodes.forEach((id) => { if (nodes[id].k !== 'root') owner[id] = -1; });
  list.forEach((item, i) => item.owned.forEach((id) => { owner[id] = i; }));
  const seen = new Int32Array(nodes.length).fill(-1);
  const out = [];
  list.forEach((item, i) => {
    const found = new Set();
    const todo = item.owned.slice();
    todo.forEach((id) => { seen[id] = i; });
    while (todo.length) {
      for (const e of needs[todo.pop()]) {
        const next = to(e);
        if (seen[next] === i || owner[next] === -2) continue;
        seen[next] = i;
        if (owner[next] < 0) todo.push(next);
        else if (owner[next] !== i && !found.has(owner[next])) { found.add(owner[next]); out.push([i, owner[next]]); }
      }
    }
  });
  return out;
}

// ---- layout: layers from left to right, each item to the right of everything that it needs

const WIDTH = 212, GAP_Y = 16;
const gapX = () => (many && state.root < 0 ? 150 : 46); // edges between root modules have labels

function layout(list, edges) {
  const n = list.length;
  const before = list.map(() => []), after = list.map(() => []);
  const acyclic = withoutCycles(n, edges);
  for (const [a, b] of acyclic) { before[a].push(b); after[b].push(a); }
  const rank = ranks(n, before, after);
  const layers = [];
  const loose = [];
  list.forEach((item, i) => {
    item.height = 44;
    if (!before[i].length && !after[i].length) loose.push(i);
    else (layers[rank[i]] = layers[rank[i]] || []).push(i);
  });
  order(layers, before, after);
  let x = 0, bottom = 0;
  for (const layer of layers) {
    x = column(list, layer, x, before);
    for (const i of layer) bottom = Math.max(bottom, list[i].y + list[i].height);
  }
  const columns = Math.max(1, Math.min(Math.max(layers.length, 4), Math.ceil(Math.sqrt(loose.length / 2))));
  const top = layers.length ? bottom + 48 : 0;
  loose.forEach((i, at) => {
    list[i].x = (at % columns) * (WIDTH + 28);
    list[i].y = top + Math.floor(at / columns) * (44 + GAP_Y);
  });
}

// withoutCycles reverses the edges that close a cycle, because modules may depend on each
// other.
function withoutCycles(n, edges) {
  const out = Array.from({ length: n }, () => []);
  edges.forEach(([a, b], e) => out[a].push([b, e]));
  const mark = new Uint8Array(n); // 1 while a node is visited, 2 afterwards
  const turned = new Set();
  for (let s = 0; s < n; s++) {
    if (mark[s]) continue;
    const stack = [[s, 0]];
    mark[s] = 1;
    while (stack.length) {
      const top = stack[stack.length - 1];
      if (top[1] === out[top[0]].length) { mark[top[0]] = 2; stack.pop(); continue; }
      const [b, e] = out[top[0]][top[1]++];
      if (mark[b] === 1) turned.add(e);
      else if (!mark[b]) { mark[b] = 1; stack.push([b, 0]); }
    }
  }
  return edges.map(([a, b], e) => (turned.has(e) ? [b, a] : [a, b]));
}

function ranks(n, before, after) {
  const rank = new Int32Array(n);
  const pending = before.map((b) => b.length);
  const ready = [];
  pending.forEach((p, i) => { if (!p) ready.push(i); });
  while (ready.length) {
    const i = ready.pop();
    for (const next of after[i]) {
      rank[next] = Math.max(rank[next], rank[i] + 1);
      if (!--pending[next]) ready.push(next);
    }
  }
  return rank;
}

// order sorts each layer by the mean position of the items that each item is connected to.
function order(layers, before, after) {
  const at = new Map();
  const number = (layer) => layer.forEach((i, k) => at.set(i, (k + 0.5) / layer.length));
  layers.forEach(number);
  for (let sweep = 0; sweep < 8; sweep++) {
    const side = sweep % 2 ? after : before;
    const sequence = sweep % 2 ? layers.slice().reverse() : layers;
    for (const layer of sequence) {
      const mean = new Map(layer.map((i) => [i,
        side[i].length ? side[i].reduce((sum, j) => sum + at.get(j), 0) / side[i].length : at.get(i)]));
      layer.sort((a, b) => mean.get(a) - mean.get(b));
      number(layer);
    }
  }
}

// column places the items of a layer, in several columns if there are many. It returns the
// position where the next layer starts.
function column(list, layer, x, before) {
  const most = 24;
  const parts = Math.ceil(layer.length / most);
  const size = Math.ceil(layer.length / parts);
  for (let p = 0; p < parts; p++) {
    const part = layer.slice(p * size, (p + 1) * size);
    const wish = part.map((i) => {
      const ys = before[i].map((j) => list[j].y).filter((y) => y !== undefined);
      return ys.length ? ys.reduce((a, b) => a + b, 0) / ys.length : null;
    });
    let y = 0, shift = 0, wishes = 0;
    part.forEach((i, k) => {
      list[i].x = x;
      list[i].y = wish[k] === null ? y : Math.max(y, wish[k]);
      if (wish[k] !== null) { shift += wish[k] - list[i].y; wishes++; }
      y = list[i].y + list[i].height + GAP_Y;
    });
    if (wishes) part.forEach((i) => { list[i].y += shift / wishes; });
    x += WIDTH + (p + 1 < parts ? 28 : gapX());
  }
  return x;
}

// ---- the drawing

const world = $('world');
let drawn = []; // items in the drawing, with their elements
const view = { x: 0, y: 0, scale: 1 };

const short = (text, n) => (text.length > n ? '\u2026' + text.slice(text.length - n + 1) : text);

function draw(keepView) {
  if (state.list) return;
  let list = items();
  let edges = links(list);
  const linked = new Set(edges.flat());
  // Drop neighbors without edges, such as a root module that the open one only comes after.
  if (list.some((item, i) => item.outside && !linked.has(i))) {
    list = list.filter((item, i) => !item.outside || linked.has(i));
    edges = links(list);
  }
  layout(list, edges);
  const texts = many && state.root < 0 && !state.only ? edgeTexts(list) : new Map();
  const labels = [], incoming = list.map(() => 0), outgoing = list.map(() => 0);
  for (const [a, b] of edges) { incoming[a]++; outgoing[b]++; }
  const lines = edges.map(([a, b]) => {
    const s = list[b], t = list[a];
    const x1 = s.x + WIDTH, y1 = s.y + s.height / 2, x2 = t.x, y2 = t.y + t.height / 2;
    const bend = Math.max(24, Math.abs(x2 - x1) / 2);
    const path = svg('path', { class: 'edge', 'marker-end': 'url(#arrow)',
      d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 3} ${y2}` });
    path.ends = [a, b];
    const text = texts.get(a + ' ' + b);
    if (!text) return path;
    path.append(svg('title', {}, text.all));
    const atStart = incoming[a] > outgoing[b]; // put the label at the end with fewer edges
    const label = svg('text', { class: 'reads' + (atStart ? ' start' : ''), x: atStart ? x1 + 8 : x2 - 14, y: (atStart ? y1 : y2) - 5 }, text.short);
    label.ends = path.ends;
    labels.push(label);
    return path;
  });
  const focused = world.contains(document.activeElement) ? document.activeElement.dataset.address : null;
  drawn = list;
  list.forEach((item, i) => { item.el = box(item, i); });
  world.replaceChildren(
    svg('defs', {}, svg('marker', { id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: 'userSpaceOnUse',
      orient: 'auto' }, svg('path', { class: 'tip', d: 'M0 0.5L8 4L0 7.5z' }))),
    ...lines, ...labels, ...list.map((item) => item.el));
  world.classList.toggle('crowded', labels.length > LABELS);
  $('empty').hidden = list.length > 0;
  $('empty').textContent = 'Nothing to draw. ' + (nodes.some((n) => OBJECTS.has(n.k)) ? 'Change the filters above.' : '');
  light();
  places();
  if (!keepView) fit();
  if (focused !== null && list.length) focus(list.find((item) => item.el.dataset.address === focused) || list[0]);
}

// focus moves the keyboard focus to an item. It becomes the only item that the tab key reaches.
function focus(item) {
  drawn.forEach((other) => other.el.setAttribute('tabindex', -1));
  item.el.setAttribute('tabindex', 0);
  item.el.focus({ preventScroll: true });
}

// edgeTexts returns the labels for edges between items: the outputs that root modules in them
// read.
function edgeTexts(list) {
  const owner = new Map();
  list.forEach((item, i) => item.owned.forEach((id) => { if (nodes[id].k === 'root') owner.set(id, i); }));
  const names = new Map();
  for (const read of data.reads || []) {
    const a = owner.get(from(read.e)), b = owner.get(to(read.e));
    if (a === undefined || b === undefined || a === b) continue;
    const key = a + ' ' + b;
    if (!names.has(key)) names.set(key, new Set());
    for (const name of readNames(read)) names.get(key).add(name);
  }
  const out = new Map();
  for (const [key, set] of names) {
    const all = [...set];
    const some = all.slice(0, 2).join(', ');
    out.set(key, { all: all.join(', '), short: shorten(some, 20) + (all.length > 2 ? ' +' + (all.length - 2) : '') });
  }
  return out;
}

// readNames returns the names of the outputs that a root module reads from another one.
const readNames = (read) => (read.k === 'after' ? ['comes after'] : read.all ? ['all outputs'] : read.o || []);
const shorten = (text, n) => (text.length > n ? text.slice(0, n - 1) + '\u2026' : text);

// box returns the element that shows an item.
function box(item, index) {
  const isModule = item.module !== undefined;
  const m = isModule ? modules[item.module] : null;
  const root = m && m.isRoot ? m.root : -1;
  const n = isModule ? null : nodes[item.node];
  const counts = tally(item.members).filter(([action]) => !isModule || action !== 'none' || !state.off.has('none'));
  const failed = root >= 0 && ['failed', 'skipped'].includes(roots[root].s);
  const worst = counts.length ? counts[0][0] : 'none';
  const path = isModule ? '' : modules[n.m].path;
  const name = isModule ? m.name : path ? n.a.slice(path.length + 1) : n.a;
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  const where = [path, many && state.only && n && n.k !== 'root' ? roots[n.root].n : ''].filter(Boolean).join(' of ');
  let under = [];
  if (isModule || total > 1) {
    under = counts.slice(0, 4).map(([a, count], i) => svg('tspan', { class: 'count x-' + a, dx: i ? 8 : 0 }, ACTIONS[a][0] + count));
    if (root >= 0) under.push(...rootNote(root, counts));
    else if (m && m.f) under.push((counts.length ? '  in ' : '') + plural(rootsIn(item).length, 'root module'));
    else if (!counts.length) under = [resourceCount(item.members.map((id) => nodes[id]))];
  } else {
    under = [counts.length ? ACTIONS[worst][1].toLowerCase() : n.k === 'root' ? 'root module' : n.k, where ? '  in ' + short(where, 24) : ''];
  }
  const kind = root >= 0 ? 'Root module ' : m && m.f ? 'Root modules ' : 'Module ';
  const label = (isModule ? kind + name + (root >= 0 ? '' : ', closed') : name + (where ? ' in ' + where : '')) + ': ' +
    (failed ? STATUSES[roots[root].s] : counts.map(([a, count]) => count + ' ' + ACTIONS[a][1].toLowerCase()).join(', ') || 'no change');
  return svg('g', {
    class: 'item x-' + worst + (isModule ? ' module' : '') + (failed ? ' failed' : '') + (item.outside ? ' outside' : ''),
    transform: `translate(${item.x} ${item.y})`, tabindex: index ? -1 : 0,
    role: 'button', 'aria-label': shown(label), 'data-address': isModule ? m.path || m.name : n.a,
    onclick: () => open(item), onkeydown: (event) => steer(event, index),
  },
  svg('title', {}, isModule ? name : full(n)),
  isModule ? svg('rect', { class: 'behind', x: 5, y: 5, width: WIDTH, height: item.height, rx: 7 }) : null,
  svg('rect', { class: 'box', width: WIDTH, height: item.height, rx: 7 }),
  svg('rect', { class: 'strip', x: 0, y: 8, width: 4, height: item.height - 16, rx: 2 }),
  svg('text', { x: 14, y: 18 }, short(name, 26)),
  svg('text', { class: 'under', x: 14, y: 34 }, ...under));
}

// STATUSES are texts for the statuses of root modules.
const STATUSES = { changes: 'changes', unchanged: 'no changes', waits: 'waits for others',
  failed: hasPlan ? 'planning failed' : 'can\u2019t be read', skipped: 'not planned' };

const HEADINGS = { unchanged: 'No changes', waits: 'This will be applied later', failed: hasPlan ? 'Planning failed' : 'Can\u2019t be read', skipped: 'Not planned' };

// rootNote returns the text in the box of a root module in addition to the numbers of changes.
function rootNote(root, counts) {
  const r = roots[root];
  if (r.s === 'failed' || r.s === 'skipped') return [svg('tspan', { class: 'x-delete' }, STATUSES[r.s])];
  if (r.s === 'waits') return [svg('tspan', { dx: counts.length ? 8 : 0 }, STATUSES.waits)];
  if (r.x) return [svg('tspan', { class: 'x-delete', dx: counts.length ? 8 : 0 }, failedChecks(r))];
  if (counts.length) return [];
  if (r.outputs.length) return [plural(r.outputs.length, 'output')];
  return [hasPlan ? STATUSES.unchanged : resourceCount(r.nodes.map((id) => nodes[id]).filter((n) => OBJECTS.has(n.k)))];
}

// rootsIn returns the root modules that an item stands for.
const rootsIn = (item) => item.owned.filter((id) => nodes[id].k === 'root').map((id) => nodes[id].root);

// open handles a click on an item: it shows a node, or opens a module. The first click on a
// root module selects it, and the second one opens it.
function open(item) {
  if (item.module === undefined) { select({ node: item.node }); return; }
  const m = modules[item.module];
  if (m.isRoot) {
    if (state.selected && state.selected.root === m.root && canEnter(m.root) || item.outside) enter(m.root);
    else select({ root: m.root });
    return;
  }
  expand(item.module);
  select({ module: item.module });
}

function expand(m) {
  for (; m >= 0; m = modules[m].p) state.expanded.add(m);
  draw();
}

// canEnter reports whether the page has the content of a root module.
const canEnter = (root) => roots[root].nodes.some((id) => OBJECTS.has(nodes[id].k));

// enter opens a root module in the graph. If root is -1, it shows the graph of root modules.
function enter(root) {
  state.only = null;
  state.root = root;
  $('root').value = root < 0 ? '' : root;
  if (root >= 0) openSmall(roots[root].m);
  if (state.list) drawList(); else draw();
  select(root < 0 ? null : { root });
}

// openSmall opens a module if it is small, or if it has no other modules to show.
function openSmall(m) {
  const direct = modules[m].nodes.filter((id) => passes(nodes[id])).length;
  if (direct + modules[m].children.length <= 60 || !modules[m].children.length) state.expanded.add(m);
}

function collapse(m) {
  for (const other of [...state.expanded]) if (inside(other, m)) state.expanded.delete(other);
  draw();
}

// places lists the open modules, each with a button that closes it.
function places() {
  if (state.only) {
    $('places').replaceChildren(el('span', { class: 'note' }, state.only.text + ' '),
      el('button', { type: 'button', id: 'everything', onclick: showEverything }, 'Show everything'));
    return;
  }
  const top = scope();
  const open = [...state.expanded].filter((m) => !(many && m === top) && inside(m, top) && boxOf(m) === null && (modules.length > 1))
    .sort((a, b) => a - b);
  const back = many && state.root >= 0 ? [el('button', { type: 'button', id: 'all-roots', onclick: () => leave() }, '\u2039 All root modules'),
    el('strong', {}, roots[state.root].n)] : [];
  $('places').replaceChildren(...back, ...open.slice(0, 12).map((m) => el('button', { type: 'button', onclick: () => collapse(m),
    'aria-label': 'Close ' + moduleName(m) }, short(moduleName(m), 32) + ' \u00d7')),
  ...(open.length > 12 ? [el('span', { class: 'note' }, 'and ' + (open.length - 12) + ' more')] : []));
}

// leave closes the open root module, selects it, and shows all root modules.
function leave() {
  const root = state.root;
  enter(-1);
  showRootAt(root);
}

// showRootAt selects a root module and shows it in the graph of root modules.
function showRootAt(root) {
  if (!state.list) {
    if (state.root >= 0 || state.only) { state.root = -1; state.only = null; $('root').value = ''; }
    for (let m = modules[roots[root].m].p; m >= 0; m = modules[m].p) state.expanded.add(m);
    draw(true);
    const item = drawn.find((i) => i.module === roots[root].m);
    if (item) reveal(item);
  }
  select({ root });
  if (state.list) $('panel').focus();
}

function showEverything() {
  state.only = null;
  draw();
}

// light highlights the selected item, the items that it is connected to, and the results of a
// search.
function light() {
  const chosen = state.selected;
  const lit = new Set();
  drawn.forEach((item, i) => {
    const is = chosen && (chosen.module !== undefined ? item.module === chosen.module :
      chosen.root !== undefined ? many && item.module === roots[chosen.root].m : item.members.includes(chosen.node));
    item.el.classList.toggle('selected', !!is);
    if (is) lit.add(i);
  });
  const near = new Set(lit);
  for (const line of world.querySelectorAll('.edge, .reads')) {
    const on = !!state.only && !!state.only.steps || line.ends.some((i) => lit.has(i));
    line.classList.toggle('lit', on && (lit.size > 0 || !!state.only));
    if (line.ends.some((i) => lit.has(i))) line.ends.forEach((i) => near.add(i));
  }
  const all = words();
  if (all.length) {
    near.clear();
    drawn.forEach((item, i) => {
      if (item.members.some((id) => matches(full(nodes[id]), all) || nodes[id].changes.some((c) => matches(fullChange(changes[c]), all))) ||
        many && item.module !== undefined && rootsIn(item).some((i) => matches(roots[i].n, all))) near.add(i);
    });
  }
  drawn.forEach((item, i) => item.el.classList.toggle('lit', near.has(i)));
  world.classList.toggle('faded', (all.length > 0 || near.size > 0) && near.size < drawn.length && !(state.only && !all.length));
}

// steer moves the focus between items with the arrow keys.
function steer(event, index) {
  const item = drawn[index];
  if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); open(item); return; }
  const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  if (!move) return;
  event.preventDefault();
  let best = null, least = Infinity;
  for (const other of drawn) {
    const dx = other.x - item.x, dy = other.y - item.y;
    const along = dx * move[0] + dy * move[1], aside = Math.abs(dx * move[1]) + Math.abs(dy * move[0]);
    if (along > 4 && along + 2 * aside < least) { best = other; least = along + 2 * aside; }
  }
  if (!best) return;
  focus(best);
  reveal(best);
}

// ---- pan and zoom

function apply() { world.setAttribute('transform', `translate(${view.x} ${view.y}) scale(${view.scale})`); }

function fit() {
  const area = $('drawing').getBoundingClientRect();
  if (!drawn.length || !area.width) return;
  const left = Math.min(...drawn.map((i) => i.x)), top = Math.min(...drawn.map((i) => i.y));
  const right = Math.max(...drawn.map((i) => i.x + WIDTH)), bottom = Math.max(...drawn.map((i) => i.y + i.height));
  const whole = Math.min((area.width - 40) / (right - left), (area.height - 40) / (bottom - top));
  view.scale = Math.min(1.15, drawn.length < 60 ? Math.max(whole, 0.6) : whole);
  // Center the drawing, or show its start if it is larger than the area.
  view.x = Math.max(20, (area.width - (right - left) * view.scale) / 2) - left * view.scale;
  view.y = Math.max(20, (area.height - (bottom - top) * view.scale) / 2) - top * view.scale;
  apply();
}

function zoom(factor, x, y) {
  const area = $('drawing').getBoundingClientRect();
  const cx = x === undefined ? area.width / 2 : x - area.left, cy = y === undefined ? area.height / 2 : y - area.top;
  const scale = Math.min(3, Math.max(0.04, view.scale * factor));
  view.x = cx - (cx - view.x) * (scale / view.scale);
  view.y = cy - (cy - view.y) * (scale / view.scale);
  view.scale = scale;
  apply();
}

// reveal moves the drawing so that an item is visible.
function reveal(item) {
  const area = $('drawing').getBoundingClientRect();
  const x = view.x + (item.x + WIDTH / 2) * view.scale, y = view.y + (item.y + item.height / 2) * view.scale;
  if (x < 20 || x > area.width - 20) view.x += area.width / 2 - x;
  if (y < 20 || y > area.height - 20) view.y += area.height / 2 - y;
  apply();
}

// ---- details

// select shows something in the panel and highlights it in the drawing.
function select(what) {
  state.selected = what;
  if (what && what.change !== undefined) what.node = changes[what.change].node;
  light();
  showPanel();
  document.querySelectorAll('.entry[aria-current]').forEach((e) => e.removeAttribute('aria-current'));
  if (what && what.change !== undefined) {
    document.querySelectorAll(`.entry[data-change="${what.change}"]`).forEach((e) => e.setAttribute('aria-current', 'true'));
  }
}

function panel(...children) {
  $('panel').replaceChildren(...children.filter(Boolean));
  $('panel').scrollTop = 0;
}

function showPanel() {
  const s = state.selected;
  // On a narrow screen, the panel is below the graph.
  if (s && window.matchMedia('(max-width: 860px)').matches) $('panel').scrollIntoView({ block: 'nearest' });
  if (!s) welcome();
  else if (s.module !== undefined) showModule(s.module);
  else if (s.root !== undefined) showRoot(s.root);
  else if (s.output !== undefined) showOutput(s.output);
  else showNode(s.node, s.change);
}

// dangerous returns the changes of the given nodes that destroy something.
function dangerous(ids) {
  const out = [];
  for (const id of ids) for (const c of nodes[id].changes) if (['delete', 'replace', 'forget'].includes(changes[c].x)) out.push(c);
  return out.sort((a, b) => ORDER.indexOf(changes[a].x) - ORDER.indexOf(changes[b].x) || a - b);
}

function welcome() {
  if (many) { showEstate(); return; }
  panel(el('h2', {}, data.title || 'Configuration'),
    hasPlan ? null : el('p', { class: 'note' }, 'The graph of a configuration. Open a plan to see changes.'),
    el('p', { class: 'note' }, resourceCount(nodes.filter((n) => OBJECTS.has(n.k))) + ' in ' +
      plural(modules.length, 'module') + '. Select a node to see what happens to it and why.'),
    ...aboutRoot(0),
    el('p', { class: 'note' }, 'An arrow leads from what is needed to what needs it. Written by ' + data.program + '.'));
}

// showEstate shows a summary of all root modules in the panel.
function showEstate() {
  const by = (status) => roots.map((r, i) => i).filter((i) => roots[i].s === status);
  const section = (title, list) => (list.length ? [el('h3', {}, title), rootEntries(list)] : []);
  const lost = dangerous(nodes.keys());
  const checked = roots.map((r, i) => i).filter((i) => roots[i].x);
  panel(el('h2', {}, data.title || 'Root modules'), el('p', { class: 'note', id: 'about' }, data.summary || plural(roots.length, 'root module')),
    ...section(HEADINGS.failed, by('failed')), ...section('Not planned', by('skipped')), ...section('Waits for deferred changes', by('waits')),
    ...(lost.length ? [el('h3', {}, 'Destroyed or replaced'), entries(lost)] : []),
    ...(data.moves ? [el('h3', {}, 'Moves between root modules'), el('p', { class: 'note' }, 'They come first, and change states only.'),
      el('div', { id: 'moves' }, paged(data.moves, (text) => text))] : []),
    ...(checked.length ? [el('h3', {}, 'Failed checks'), paged(checked, (i) => rootEntry(i, '', failedChecks(roots[i])))] : []),
    ...section('Changes', by('changes')), ...section('Root modules', by(undefined)),
    el('p', { class: 'note' }, 'An arrow leads from a root module to one that reads its outputs. Select a root module to see which, ' +
      'and select it again to open it. Written by ' + data.program + '.'));
}

const failedChecks = (r) => plural(r.x.length, 'failed check');

// showRoot shows one of many root modules in the panel.
function showRoot(i) {
  const r = roots[i];
  const reads = (title, all, end) => { // skip edges without read data, which are from users to outputs
    const list = all.filter((e) => readAt.has(e));
    return list.length ? [el('h3', {}, title), paged(list, (e) => readEntry(nodes[end(e)].root, e))] : [];
  };
  const changing = r.nodes.flatMap((id) => nodes[id].changes.filter((c) => changes[c].x && !['delete', 'replace', 'forget'].includes(changes[c].x)));
  panel(el('h2', {}, r.n), r.d && r.d !== r.n ? el('p', { class: 'place' }, r.d) : null,
    HEADINGS[r.s] || r.w ? el('p', { id: 'heading' }, [HEADINGS[r.s], r.w].filter(Boolean).join(': ') + '.') : null,
    el('div', { class: 'buttons' },
      canEnter(i) && state.root !== i ? el('button', { type: 'button', id: 'enter', onclick: () => { setView(false); enter(i); } }, 'Open') : null,
      el('button', { type: 'button', onclick: () => { $('first').value = r.n; $('second').focus(); } }, 'Why before \u2026'),
      el('button', { type: 'button', onclick: () => { $('second').value = r.n; $('first').focus(); } }, 'Why after \u2026')),
    ...aboutRoot(i),
    ...(changing.length ? [el('h3', {}, 'Changes'), entries(changing, true)] : []),
    ...reads('Reads', needs[r.k], to), ...reads('Read by', users[r.k], from));
}

const problemEntry = (e) => el('div', { class: 'problem' }, el('p', {}, el('strong', {}, e.s)), e.p ? el('p', { class: 'place' }, e.p) : null,
  e.d ? el('p', { class: 'text' }, e.d) : null);

// aboutRoot returns elements about a root module as a whole.
function aboutRoot(i) {
  const r = roots[i], out = (r.e || []).map(problemEntry);
  const problems = (title, list) => { if (list) out.push(el('h3', {}, title), paged(list, problemEntry)); };
  problems('Checks: ' + (r.x || []).length + ' failed', r.x);
  problems('Changed outside', r.z);
  problems('Actions', r.v);
  problems('Warnings: ' + (r.y || []).length, r.y);
  if (r.u) out.push(el('h3', {}, 'Not known when it was planned'), paged(r.u, (text) => text));
  if (r.p) {
    out.push(el('h3', {}, 'Goes back'), el('p', { class: 'note' }, 'The plan goes back to how the objects were ' + r.p.w + '.'));
    if (r.p.l) out.push(el('div', { id: 'lost' }, el('p', {}, el('strong', {}, 'Not everything can be undone:')), paged(r.p.l, (l) => lostEntry(l))));
  }
  const lost = dangerous(r.nodes);
  if (lost.length) out.push(el('h3', {}, 'Destroyed or replaced'), entries(lost, true));
  if (r.outputs.length) {
    const all = paged(r.outputs, (id) => el('div', {}, ...rows(null, difference('outputs', outputs[id].at).l || [])));
    out.push(el('h3', {}, 'Outputs'), el('div', { class: 'diff', id: 'outputs', role: 'group', 'aria-label': 'Outputs', tabindex: 0 }, all));
  }
  if (r.h) out.push(el('h3', {}, 'Renamed?'), el('p', { class: 'note' }, 'Objects that are destroyed look like others that are created. ' +
    'If only their addresses change, moved blocks keep them.'), paged(r.h, renameEntry));
  return out;
}

const lostEntry = (l) => el('span', { class: 'lost' }, l.c < 0 ? el('code', {}, l.a) :
  el('button', { type: 'button', class: 'link', onclick: () => go({ change: l.c }) }, l.a), ' ' + l.t + '.');

const renameEntry = (h) => el('div', { class: 'rename' }, el('p', { class: 'note' }, (h.m ? 'In ' + h.m + ', for ' : 'For ') + plural(h.n, 'object') + ':'),
  el('pre', { class: 'moved', tabindex: 0 }, h.t));

// showOutput shows an output that changes in the panel.
function showOutput(id) {
  const o = outputs[id];
  panel(el('h2', {}, ...broken('output.' + o.a)), many ? rootLink(o.root) : null, diff(null, difference('outputs', o.at).l || []));
}

const rootLink = (i) => el('p', { class: 'note' }, 'in ', el('button', { type: 'button', class: 'link', onclick: () => showRootAt(i) }, roots[i].n));

function showModule(m) {
  const members = [];
  nodes.forEach((n, id) => { if (inside(n.m, m) && passes(n)) members.push(id); });
  const all = members.flatMap((id) => nodes[id].changes.filter((c) => !state.off.has(classOf(changes[c]))));
  panel(el('h2', {}, ...broken(moduleName(m))),
    el('p', { class: 'note' }, resourceCount(members.map((id) => nodes[id])) + ' shown'),
    el('div', { class: 'buttons' },
      el('button', { type: 'button', onclick: () => (state.expanded.has(m) ? collapse(m) : expand(m)) },
        state.expanded.has(m) ? 'Close in the graph' : 'Open in the graph')),
    ...(hasPlan ? [el('h3', {}, 'Changes'), entries(all, true)] : [el('h3', {}, 'Resources'), nodeEntries(members)]));
}

function showNode(id, change) {
  const n = nodes[id];
  if (n.k === 'root') { showRoot(n.root); return; }
  if (change === undefined && n.changes.length === 1) change = n.changes[0];
  const about = change === undefined ? null : difference('details', change);
  const several = n.changes.length > 1;
  panel(
    el('h2', {}, ...broken(change === undefined ? n.a : changes[change].a)),
    many ? rootLink(n.root) : null,
    el('p', { class: 'place' }, nodePlace(n) || (OBJECTS.has(n.k) ? 'only in the state' : '')),
    about ? el('p', { id: 'heading' }, about.h) : el('p', { class: 'note' }, n.k + (n.t ? ' of type ' + n.t : '')),
    ...(about ? (about.n || []).map((note) => el('p', { class: 'note' }, note)) : []),
    change !== undefined && changes[change].d ? el('p', { class: 'note' }, 'took ' + seconds(changes[change].d)) : null,
    about && about.l ? diff(n, about.l) : null,
    n.output !== undefined ? diff(n, difference('outputs', outputs[n.output].at).l || []) : null,
    el('div', { class: 'buttons' },
      el('button', { type: 'button', id: 'near', onclick: () => neighborhood(id, 1) }, 'Neighborhood'),
      el('button', { type: 'button', onclick: () => neighborhood(id, 3) }, 'Three steps'),
      el('button', { type: 'button', onclick: () => { $('first').value = full(n); $('second').focus(); } }, 'Why before \u2026'),
      el('button', { type: 'button', onclick: () => { $('second').value = full(n); $('first').focus(); } }, 'Why after \u2026')),
    ...(several ? [el('h3', {}, plural(n.changes.length, 'instance')), entries(n.changes, true)] : []),
    ...relations('Needs', needs[id].map((e) => [to(e), e])),
    ...relations('Needed by', users[id].map((e) => [from(e), e])));
}

// diff returns an element with the lines of a change.
function diff(n, lines) {
  return el('div', { class: 'diff', role: 'group', 'aria-label': 'Difference', tabindex: 0 }, ...rows(n, lines));
}

function rows(n, lines) {
  const kinds = { '+': 'create', '-': 'delete', '~': 'update' };
  const signs = { '+': '+', '-': '\u2212', '~': '~' };
  return lines.map((l) => {
    const text = el('span', { class: 'text' }, ...l.t.map((part, i) => (i % 2 ? el('mark', {}, part) : part)));
    text.style.paddingLeft = (l.i || 0) + 'ch';
    return el('div', { class: 'row' + (kinds[l.s] ? ' x-' + kinds[l.s] : '') + (l.r ? ' forces' : '') },
      el('span', { class: 'place' }, ...(l.n ? [el('span', { class: 'unseen' }, files[n.f] + ':'), String(l.n)] : [])),
      el('span', { class: 'sign' }, signs[l.s] || ' '), text);
  });
}

function relations(title, list) {
  if (!list.length) return [];
  return [el('h3', {}, title), paged(list, ([id, e]) => nodeEntry(id, place(data.edges[e * EDGE + 2], data.edges[e * EDGE + 3])))];
}

// paged returns a list that shows only some entries at first, and more on request.
function paged(list, entry) {
  const ul = el('ul', {});
  let at = 0;
  const more = () => {
    const last = ul.lastElementChild;
    if (last && last.dataset.more) last.remove();
    for (const one of list.slice(at, at + PAGE)) ul.append(el('li', {}, entry(one)));
    at += PAGE;
    if (at < list.length) {
      ul.append(el('li', { 'data-more': 1 }, el('button', { type: 'button', onclick: () => {
        const index = ul.children.length - 1;
        more();
        ul.children[index].querySelector('button').focus();
      } }, 'Show more (' + (list.length - at).toLocaleString('en') + ' left)')));
    }
  };
  more();
  return ul;
}

const entries = (ids, bare) => paged(ids, (id) => changeEntry(id, bare));
const nodeEntries = (ids) => paged(ids, (id) => nodeEntry(id, nodePlace(nodes[id])));

// changeEntry returns the entry for a change. If bare is set, it omits the root module.
function changeEntry(id, bare) {
  const c = changes[id], action = classOf(c);
  return el('button', { type: 'button', class: 'entry x-' + action, 'data-change': id,
    'aria-current': state.selected && state.selected.change === id ? 'true' : null, onclick: () => go({ change: id }) },
  el('span', { class: 'sign', 'aria-hidden': 'true' }, ACTIONS[action][0]), el('span', { class: 'unseen' }, ACTIONS[action][1] + ' '),
  el('span', { class: 'address' }, many && !bare && state.root !== nodes[c.node].root ? el('span', { class: 'in' }, roots[nodes[c.node].root].n + ' ') : null, ...broken(c.a)),
  el('span', { class: 'place' }, nodePlace(nodes[c.node])),
  c.d ? el('span', { class: 'took' }, seconds(c.d)) : null);
}

function nodeEntry(id, where) {
  const n = nodes[id], counts = tally([id]);
  const action = counts.length ? counts[0][0] : 'none';
  return el('button', { type: 'button', class: 'entry x-' + action, 'data-node': id, onclick: () => go({ node: id }) },
    el('span', { class: 'sign', 'aria-hidden': 'true' }, OBJECTS.has(n.k) ? ACTIONS[action][0] : ' '),
    el('span', { class: 'address' }, many && n.k !== 'root' && n.root !== state.root ? el('span', { class: 'in' }, roots[n.root].n + ' ') : null, ...broken(n.a)),
    el('span', { class: 'place' }, where));
}

const rootEntries = (list) => paged(list, (i) => rootEntry(i));

// rootEntry returns the entry for one of many root modules. what is an additional text.
function rootEntry(i, what, where) {
  const r = roots[i], failed = ['failed', 'skipped'].includes(r.s);
  const action = failed ? 'delete' : r.counts.length ? r.counts[0][0] : 'none';
  return el('button', { type: 'button', class: 'entry x-' + action, 'data-root': i, onclick: () => showRootAt(i) },
    el('span', { class: 'sign', 'aria-hidden': 'true' }, failed ? '!' : ACTIONS[action][0]), el('span', { class: 'address' }, r.n,
      what ? el('span', { class: 'in' }, ' ' + what) : null),
    el('span', { class: 'place' }, where !== undefined ? where : failed || r.s === 'waits' ? STATUSES[r.s] :
      r.counts.map(([a, count]) => ACTIONS[a][0] + count).join(' ')));
}

const readEntry = (i, e) => rootEntry(i, readNames(readAt.get(e)).join(', ') + (readAt.get(e).u ? ' (' + readAt.get(e).u + ')' : ''),
  place(data.edges[e * EDGE + 2], data.edges[e * EDGE + 3]));

function outputEntry(id) {
  const o = outputs[id];
  return el('button', { type: 'button', class: 'entry x-' + o.x, 'data-output': id, onclick: () => { select({ output: id }); if (state.list) $('panel').focus(); } },
    el('span', { class: 'sign', 'aria-hidden': 'true' }, ACTIONS[o.x] ? ACTIONS[o.x][0] : ' '),
    el('span', { class: 'address' }, many && state.root < 0 ? el('span', { class: 'in' }, roots[o.root].n + ' ') : null, ...broken('output.' + o.a)));
}

// go selects something and shows it in the drawing.
function go(what) {
  const id = what.change !== undefined ? changes[what.change].node : what.node;
  if (nodes[id].k === 'root') { showRootAt(nodes[id].root); return; }
  if (!state.list && OBJECTS.has(nodes[id].k)) {
    if (many && state.root !== nodes[id].root && !(state.only && state.only.nodes.includes(id))) {
      state.root = nodes[id].root;
      $('root').value = state.root;
    }
    if (state.only && !state.only.nodes.includes(id)) state.only = null;
    if (!state.only) for (let m = nodes[id].m; m >= 0; m = modules[m].p) state.expanded.add(m);
    draw(true);
    const item = drawn.find((i) => i.members.includes(id));
    if (item) reveal(item);
  }
  select(what);
  if (state.list) $('panel').focus();
}

// ---- neighborhoods and paths

// neighborhood draws the resources that a node needs and those that need it, up to depth
// resources away.
function neighborhood(id, depth) {
  const near = new Set([id]);
  for (const [adjacent, end] of [[needs, to], [users, from]]) {
    const distance = new Map([[id, 0]]);
    let now = [id], next = [];
    for (let steps = 0; steps <= depth && now.length; steps++) {
      while (now.length) {
        const at = now.pop();
        near.add(at);
        for (const e of adjacent[at]) {
          const other = end(e);
          if (distance.has(other)) continue;
          const far = OBJECTS.has(nodes[other].k);
          if (far && steps === depth) continue;
          distance.set(other, steps);
          (far ? next : now).push(other);
        }
      }
      now = next;
      next = [];
    }
  }
  const list = [...near].filter((other) => OBJECTS.has(nodes[other].k) || other === id);
  state.only = { nodes: list, text: 'Near ' + full(nodes[id]) };
  if (list.length > LIMIT) say('Only ' + LIMIT + ' of ' + plural(list.length, 'node') + ' are drawn.');
  setView(false);
  draw();
  select({ node: id });
}

// resolve returns the node that the user's text refers to, or null.
function resolve(text) {
  const wanted = text.trim();
  if (!wanted) return null;
  const find = (test) => { const id = nodes.findIndex(test); return id < 0 ? undefined : id; };
  const here = (n) => !many || n.root === state.root;
  const change = changes.find((c) => (c.a === wanted && here(nodes[c.node])) || fullChange(c) === wanted);
  const all = wanted.toLowerCase().split(/\s+/);
  const id = [() => find((n) => n.a === wanted && (here(n) || n.k === 'root')), () => find((n) => full(n) === wanted), () => change && change.node,
    () => find((n) => OBJECTS.has(n.k) && here(n) && matches(n.a, all)), () => find((n) => OBJECTS.has(n.k) && matches(full(n), all)),
    () => find((n) => n.k === 'root' && matches(n.a, all))].reduce((got, next) => (got === undefined ? next() : got), undefined);
  return id === undefined ? null : id;
}

// path returns the edges of a shortest path from a node to a node that it needs, or null if
// there is none.
function path(start, end) {
  const via = new Map([[start, -1]]);
  let now = [start];
  while (now.length && !via.has(end)) {
    const next = [];
    for (const at of now) for (const e of needs[at]) if (!via.has(to(e))) { via.set(to(e), e); next.push(to(e)); }
    now = next;
  }
  if (!via.has(end)) return null;
  const out = [];
  for (let at = end; at !== start; at = from(out[0])) out.unshift(via.get(at));
  return out;
}

function why(event) {
  event.preventDefault();
  const first = resolve($('first').value), second = resolve($('second').value);
  for (const [id, input] of [[first, 'first'], [second, 'second']]) {
    if (id === null) { say('There is no address \u201c' + $(input).value + '\u201d.'); $(input).focus(); return; }
  }
  let edges = path(second, first), early = first, late = second;
  let text = full(nodes[first]) + ' is before ' + full(nodes[second]);
  if (!edges) {
    edges = path(first, second);
    [early, late] = [second, first];
    text = 'It is the other way around: ' + full(nodes[second]) + ' is before ' + full(nodes[first]);
  }
  if (!edges) {
    state.only = null;
    draw();
    state.selected = null;
    panel(el('h2', {}, 'Independent'), el('p', { id: 'answer' }, full(nodes[first]) + ' and ' + full(nodes[second]) +
      ' don\u2019t wait for one another.'));
    return;
  }
  const destroyed = [early, late].every((id) => nodes[id].changes.length && nodes[id].changes.every((c) => classOf(changes[c]) === 'delete'));
  const steps = edges.slice().reverse();
  state.only = { nodes: [early, ...steps.map(from)], steps, text: 'Path' };
  state.selected = null;
  setView(false);
  draw();
  panel(el('h2', {}, ...broken(text)), destroyed ? el('p', { class: 'note' }, 'Both are destroyed, so the order is reversed: ' +
    full(nodes[late]) + ' is destroyed first.') : null,
  el('ol', { class: 'steps', id: 'answer' }, ...steps.map((e) => el('li', {},
    nodeEntry(from(e), place(data.edges[e * EDGE + 2], data.edges[e * EDGE + 3])), el('span', { class: 'note' },
      meaning(e))))));
}

// meaning describes an edge in words.
function meaning(e) {
  const target = full(nodes[to(e)]), read = readAt.get(e);
  if (read) return read.k === 'after' ? 'comes after ' + target : 'reads ' + readNames(read).join(', ') + ' of ' + target;
  return (data.edges[e * EDGE + 2] < 0 ? 'depends, as the state says, on ' : 'refers to ') + target;
}

function critical() {
  const list = data.critical;
  state.only = { nodes: [...new Set(list.map((c) => changes[c].node))], steps: [], text: 'Critical path' };
  state.selected = null;
  setView(false);
  draw();
  const longest = Math.max(...list.map((c) => changes[c].d || 0), 0.001);
  const last = changes[list[list.length - 1]];
  panel(el('h2', {}, 'Critical path'), el('p', { class: 'note' }, 'These changes determined how long the apply took: ' +
    seconds((last.b || 0) + (last.d || 0)) + '. Making another change faster would not have shortened it.'),
  el('ol', { class: 'steps', id: 'answer' }, ...list.map((c) => {
    const bar = el('span', { class: 'bar' });
    bar.style.width = Math.max(1, 100 * (changes[c].d || 0) / longest) + '%';
    return el('li', {}, changeEntry(c, true), bar);
  })));
}

// ---- the list

function drawList() {
  if (!state.list) return;
  const all = words();
  const groups = new Map(ORDER.map((a) => [a, []]));
  nodes.forEach((n, id) => {
    if (!passes(n)) return;
    if (!n.changes.length && matches(full(n), all)) groups.get('none').push({ node: id });
    for (const c of n.changes) {
      const action = classOf(changes[c]);
      if (!state.off.has(action) && matches(fullChange(changes[c]), all)) groups.get(action).push({ change: c });
    }
  });
  const sections = [];
  const section = (title, list, entry) => { if (list.length) sections.push(el('h2', {}, title + ' (' + list.length.toLocaleString('en') + ')'), paged(list, entry)); };
  if (many && state.root < 0) {
    section('Root modules', roots.map((r, i) => i).filter((i) => matches(roots[i].n, all) && rootShown(i, roots[i].nodes.filter((id) => passes(nodes[id])))),
      (i) => rootEntry(i));
  }
  for (const [action, list] of groups) {
    if (!list.length) continue;
    sections.push(el('h2', { class: 'x-' + action }, el('span', { class: 'sign', 'aria-hidden': 'true' }, ACTIONS[action][0]),
      (hasPlan ? ACTIONS[action][1] : 'Resources') + ' (' + list.length.toLocaleString('en') + ')'),
    paged(list, (one) => (one.change !== undefined ? changeEntry(one.change, false) : nodeEntry(one.node, nodePlace(nodes[one.node])))));
  }
  const some = outputs.map((o, id) => id).filter((id) => !state.type && !state.module && !state.off.has(outputs[id].x) &&
    (!many || state.root < 0 || outputs[id].root === state.root) && matches((many ? roots[outputs[id].root].n + ': ' : '') + 'output.' + outputs[id].a, all));
  section('Outputs', some, outputEntry);
  const total = [...groups.values()].reduce((sum, list) => sum + list.length, 0);
  say(plural(total, hasPlan ? 'object' : 'resource') + ' shown');
  $('list').replaceChildren(...(sections.length ? sections : [el('p', { class: 'note' }, 'Nothing matches.')]));
}

// results returns the changes, and the nodes without changes, that the search finds.
function results() {
  const all = words(), list = [], named = [];
  changes.forEach((c, id) => { if (matches(fullChange(c), all)) list.push(id); });
  nodes.forEach((n, id) => { if (!n.changes.length && matches(full(n), all)) named.push(id); });
  return { list, named };
}

// found shows the results of a search next to the graph.
function found() {
  if (state.list) { drawList(); return; }
  light();
  if (!words().length) { showPanel(); return; }
  const { list, named } = results();
  say(plural(list.length + named.length, 'result'));
  panel(el('h2', { id: 'results' }, plural(list.length + named.length, 'result')), entries(list), nodeEntries(named));
}

// openFound opens what the search finds: the object whose whole address it is, or else the first one.
function openFound() {
  if (!words().length) return;
  const { list, named } = results(), whole = state.query.trim();
  const all = [...list.map((change) => ({ change, names: [changes[change].a, fullChange(changes[change])] })),
    ...named.map((node) => ({ node, names: [nodes[node].a, full(nodes[node])] }))];
  const { change, node } = all.find((one) => one.names.includes(whole)) || all[0] || {};
  if (change === undefined && node === undefined) return;
  go(change === undefined ? { node } : { change });
  $('panel').focus();
}

// ---- controls

function setView(list) {
  state.list = list;
  $('graph').hidden = list;
  $('list').hidden = !list;
  $('view-graph').setAttribute('aria-pressed', !list);
  $('view-list').setAttribute('aria-pressed', list);
}

function refresh() {
  if (state.list) drawList();
  else { draw(); if (words().length) found(); }
}

function begin() {
  $('title').textContent = data.title ? 'Plan ' + shown(data.title) : many ? 'Graph of the root modules' : 'Graph of the configuration';
  $('mode').textContent = { destroy: 'destroys everything', 'refresh-only': 'only records changes made outside' }[data.mode] ||
    (roots.length && roots[0].p && !many ? 'goes back to how the objects were ' + roots[0].p.w : '');
  $('summary').textContent = shown(data.summary || '');
  roots.forEach((r) => { r.counts = tally(r.nodes).filter(([action]) => action !== 'none'); });
  for (const [action, count] of tally(nodes.keys())) {
    const chip = el('button', { type: 'button', class: 'chip x-' + action, 'aria-pressed': !state.off.has(action), 'data-action': action,
      onclick: () => {
        if (!state.off.delete(action)) state.off.add(action);
        chip.setAttribute('aria-pressed', !state.off.has(action));
        refresh();
      } }, el('span', { class: 'sign', 'aria-hidden': 'true' }, ACTIONS[action][0]), count.toLocaleString('en') + (action === 'none' ? ' unchanged' : ' to ' + ACTIONS[action][1].toLowerCase()));
    $('actions').append(chip);
  }
  const still = roots.filter((r) => r.s === 'unchanged').length;
  if (still) {
    state.unchanged = roots.length <= 60 || still === roots.length;
    const chip = el('button', { type: 'button', class: 'chip x-none', 'aria-pressed': state.unchanged, 'data-action': 'unchanged', onclick: () => {
      state.unchanged = !state.unchanged;
      chip.setAttribute('aria-pressed', state.unchanged);
      refresh();
    } }, el('span', { class: 'sign', 'aria-hidden': 'true' }, ACTIONS.none[0]), plural(still, 'root module') + ' without changes');
    $('actions').append(chip);
  }
  const types = [...new Set(nodes.filter((n) => n.t).map((n) => n.t))].sort();
  $('type').append(...types.map((t) => el('option', { value: t }, t)));
  const paths = [...new Set(modules.map((m) => m.path).filter(Boolean))];
  if (many) paths.sort();
  $('module').append(...paths.map((path) => el('option', { value: path }, short(path, 60))));
  $('module').parentElement.hidden = !paths.length;
  $('root').parentElement.hidden = !many;
  if (many) {
    const byName = roots.map((r, i) => i).sort((a, b) => (roots[a].n < roots[b].n ? -1 : 1));
    $('root').append(...byName.map((i) => el('option', { value: i }, short(roots[i].n, 60))));
  }

  let timer = 0;
  $('search').addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(() => { state.query = $('search').value; found(); }, 120);
  });
  $('search').addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault();
    clearTimeout(timer);
    state.query = $('search').value;
    found();
    openFound();
  });
  $('type').addEventListener('change', () => { state.type = $('type').value; refresh(); });
  $('module').addEventListener('change', () => {
    chooseModule($('module').value);
    refresh();
  });
  $('root').addEventListener('change', () => enter($('root').value === '' ? -1 : +$('root').value));
  $('view-graph').addEventListener('click', () => { setView(false); draw(); });
  $('view-list').addEventListener('click', () => { setView(true); drawList(); });
  $('why').addEventListener('submit', why);
  $('critical').hidden = !data.critical;
  $('critical').addEventListener('click', critical);
  $('in').addEventListener('click', () => zoom(1.3));
  $('out').addEventListener('click', () => zoom(1 / 1.3));
  $('fit').addEventListener('click', fit);
  $('theme').addEventListener('click', () => {
    const root = document.documentElement;
    const next = { auto: 'light', light: 'dark', dark: 'auto' }[root.dataset.theme || 'auto'];
    if (next === 'auto') delete root.dataset.theme; else root.dataset.theme = next;
    $('theme').textContent = 'Theme: ' + next;
  });
  document.addEventListener('keydown', (event) => {
    const typing = ['INPUT', 'SELECT'].includes(document.activeElement.tagName);
    if (event.key === '/' && !typing) { event.preventDefault(); $('search').focus(); }
    if (event.key === 'Escape' && !typing) {
      if (many && state.root >= 0 && !state.list && state.selected && state.selected.root === state.root) { leave(); return; }
      state.selected = many && state.root >= 0 ? { root: state.root } : null;
      light();
      showPanel();
    }
  });
  const drawing = $('drawing');
  let drag = null;
  drawing.addEventListener('wheel', (event) => { event.preventDefault(); zoom(Math.exp(-event.deltaY / 500), event.clientX, event.clientY); }, { passive: false });
  drawing.addEventListener('pointerdown', (event) => { if (!event.target.closest('.item')) { drag = event; drawing.classList.add('dragging'); drawing.setPointerCapture(event.pointerId); } });
  drawing.addEventListener('pointermove', (event) => {
    if (!drag) return;
    view.x += event.clientX - drag.clientX;
    view.y += event.clientY - drag.clientY;
    drag = event;
    apply();
  });
  drawing.addEventListener('pointerup', () => { drag = null; drawing.classList.remove('dragging'); });
  window.addEventListener('resize', () => apply());

  // All modules are closed at first, except a small root module or one without other modules. On
  // a page about many root modules, folders are open as long as there are few boxes.
  if (many) openFolders();
  else openSmall(0);
  welcome();
  setView(false);
  draw();
}

// openFolders opens folders of root modules, from the outside in, as long as at most OPEN boxes
// are drawn.
function openFolders() {
  state.expanded.add(0);
  const units = rootUnits();
  for (let next = [0]; next.length;) {
    next = next.flatMap((m) => modules[m].children).filter((m) => modules[m].f);
    next.forEach((m) => state.expanded.add(m));
    if (new Set(units.map((unit) => boxOf(unit.m))).size <= OPEN) continue;
    next.forEach((m) => state.expanded.delete(m));
    return;
  }
}

begin();
// Tests wait for this attribute. Its value is the time in milliseconds that it took to open the
// page.
document.documentElement.dataset.ready = Math.round(performance.now());
})();
