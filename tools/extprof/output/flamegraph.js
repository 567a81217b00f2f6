// SPDX-License-Identifier: BSD-2-Clause
// Draws the graph and answers clicks.  `D` is the profile: see flamegraph.c.
// No markup is ever made from text: names only go into text nodes.
"use strict";
(function () {
  var NS = "http://www.w3.org/2000/svg";
  var ROW = 17, PAD = 10, TOP = D.top, FOOT = 30, CHAR = 7.25, MIN = 0.25, LINE = 15, LINES_MAX = 6;
  var DRAWN_MAX = 4000;  // frames: more take a browser seconds
  var NARROWEST = 300, PARTS_MAX = 1000;
  var FONT = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
  var svg = document.getElementById("graph");
  var frames = document.getElementById("frames");
  var details = document.getElementById("details");
  var matched = document.getElementById("matched");
  var head = document.getElementById("head"), foot = document.getElementById("foot");
  var input = document.getElementById("search"), parts = document.getElementById("part");
  // `base` is the tree of the file, or of the heat map; `chosen` the part of it of which `tree` is a view.
  var base = extprofTree.read(), chosen = base, tree = base, whole = 0;
  // By node of the view.  `missing`: the sum of `hidden` over the node and all above it.
  var parent, label, self, hidden, side, n, total, missing, sums, depth, x0, children, i, notDrawn = 0;
  var state = fresh();
  var lowest = 0, highest = 0, height = 0;  // rows of callers, and the others
  var shown = [], cursor = 0;               // what is drawn, and which of it has the keys
  var page = { link: {}, recalled: null };  // what is around the graph: its part of the link
  var pattern = null, hits = new Array(D.labels.length).fill(false);

  // Threads and other groups of the file, to choose one.
  var groups = extprofTree.depths(base).map(function (d) { return d <= base.groups ? d : 0; }), groupKinds = {};
  groups.forEach(function (d, v) { if (d) { groupKinds[D.labels[base.label[v]][2]] = true; } });
  function listParts() {
    var list = [], v, made;
    if (!parts || D.heat || !base.groups) { return; }
    for (v = 1; v < groups.length && list.length < PARTS_MAX; v++) { if (groups[v]) { list.push(v); } }
    made = [["", "apart"], ["all", "all together"]].concat(list.map(function (v) {
      return [String(v), "\u2003".repeat(groups[v] - 1) + D.labels[base.label[v]][0]];
    }));
    made.forEach(function (m) {
      var option = document.createElementNS("http://www.w3.org/1999/xhtml", "option");
      option.value = m[0];
      option.textContent = m[1];
      parts.appendChild(option);
    });
    setGone("parts", false);
  }

  function fresh() { return { zoom: 0, search: "", flip: false, invert: false, sandwich: "", part: "" }; }

  // Children come after their parents, in the order of drawing.
  function measureTree() {
    parent = tree.parent;
    label = tree.label;
    side = tree.side;
    self = tree.own[0];
    hidden = tree.hid[0];
    n = parent.length;
    missing = hidden.slice();
    depth = new Array(n).fill(0);
    x0 = new Array(n).fill(0);
    children = [];
    for (i = 0; i < n; i++) { children.push([]); }
    sums = tree.own.map(function (own, k) {
      var sum = own.slice();
      for (i = 0; i < n; i++) { sum[i] += tree.hid[k][i]; }
      // What ends in the root of a sandwich comes from its callees alone.
      for (i = n - 1; i > 0; i--) { if (parent[i] || side[i] > 0) { sum[parent[i]] += sum[i]; } }
      return sum;
    });
    total = sums[0];
    for (i = n - 1; i > 0; i--) { if (parent[i] || side[i] > 0) { missing[parent[i]] += missing[i]; } }
    for (i = 1; i < n; i++) {
      depth[i] = depth[parent[i]] + side[i];
      children[parent[i]].push(i);
    }
    for (i = 0; i < n; i++) {
      if (tree.sorts) { children[i].sort(function (a, b) { return total[b] - total[a] || a - b; }); }
      putBeside(x0[i], children[i].filter(function (c) { return side[c] > 0; }));
      putBeside(x0[i], children[i].filter(function (c) { return side[c] < 0; }));
    }
    function putBeside(at, list) { list.forEach(function (c) { x0[c] = at; at += total[c]; }); }
  }
  // The view that the state asks for.
  function makeView() {
    var group = state.part === "all" ? -1 : +state.part;
    chosen = base;
    if (!D.heat && base.groups && state.part) {
      chosen = group < 0 ? extprofTree.merged(base) : extprofTree.part(base, group);
    }
    tree = (state.sandwich && extprofTree.sandwich(chosen, state.sandwich)) || null;
    if (!tree) {
      state.sandwich = "";
      tree = state.invert ? extprofTree.inverted(chosen) : chosen;
    }
    whole = 0;
    for (i = 0; i < chosen.parent.length; i++) { whole += chosen.own[0][i] + chosen.hid[0][i]; }
    measureTree();
    cursor = 0;
    press("invert", state.invert && !state.sandwich);
    press("sandwich", state.sandwich !== "");
  }
  // Chromium has an accessible node of what is not displayed.
  function setGone(id, gone) {
    var e = document.getElementById(id);
    e.classList.toggle("gone", gone);
    e.setAttribute("aria-hidden", gone ? "true" : "false");
  }
  function press(id, on) { document.getElementById(id).setAttribute("aria-pressed", on ? "true" : "false"); }

  function name(node) {
    if (node || state.sandwich) { return D.labels[label[node]][0]; }
    return state.part && state.part !== "all" && chosen !== base ? D.labels[base.label[+state.part]][0] : "all";
  }
  function percent(part, whole) { return whole ? (100 * part / whole).toFixed(2) + " %" : "-"; }
  // "5 samples", "1.5 ms", "2.0 KiB": the units of unit.h.
  function amount(n) {
    var names, size, i = 0;
    if (!D.metric[1]) { return n + " " + D.metric[0]; }
    names = D.metric[1] === 1 ? ["ns", "us", "ms", "s"] : ["B", "KiB", "MiB", "GiB", "TiB"];
    size = D.metric[1] === 1 ? 1000 : 1024;
    while (n >= size && i < names.length - 1) { n /= size; i++; }
    return (i ? n.toFixed(2) : n) + " " + names[i];
  }
  // What has changed, of a graph that compares: the rule of diff.c.
  function variance(which, p, part, squares) {
    var all = D.diff.all[which], outside = all - part, others = Math.max(D.diff.squares[which] - squares, 0);
    var average = all > 0 ? D.diff.squares[which] / all : 0;
    var m = part > 0 ? squares / part : average, other = outside > 0 ? others / outside : average;
    return all > 0 ? p * (1 - p) * ((1 - p) * m + p * other) / all : 0;
  }
  function compare(node) {
    var all = D.diff.all, was = sums[1][node], is = sums[2][node], p = (was + is) / (all[0] + all[1] || 1);
    var noise = variance(0, p, was, sums[3][node]) + variance(1, p, is, sums[4][node]);
    var c = { before: all[0] ? was / all[0] : 0, after: all[1] ? is / all[1] : 0 };
    c.decided = Math.abs(c.after - c.before) > D.diff.errors * Math.sqrt(Math.max(noise, 0));
    return c;
  }
  function change(node) {
    var c = compare(node), before = 100 * c.before, after = 100 * c.after, by = after - before;
    return "before " + before.toFixed(2) + " %, after " + after.toFixed(2) + " % (" + (by < 0 ? "" : "+") + by.toFixed(2) +
      (c.decided ? ")" : ", may be noise)");
  }
  // Frames of callers end where nothing calls them.
  function isOfCallers(node) { return side[node] < 0 || (node && state.invert && !state.sandwich && depth[node] > tree.groups); }
  function ends(node) {
    if (!isOfCallers(node)) { return "; itself " + amount(self[node]) + ", " + percent(self[node], whole); }
    return self[node] ? "; nothing calls it in " + amount(self[node]) : "";
  }
  function describe(node) {
    var l = D.labels[label[node]], text = l[0] + (l[1] ? " (" + l[1] + ")" : ""), around = !node && state.sandwich;
    var leftOut = !missing[node] || D.diff ? "" : "; " + amount(missing[node]) + (isOfCallers(node) ?
      " come from frames that are not shown" : " end in frames that are not in this file");
    if (!node && !state.sandwich) {
      return name(0) + ": " + (D.diff ? "as wide as the mean of both shares" : amount(total[0]) + leftOut);
    }
    return text + " \u2014 " + (D.diff ? change(node) : amount(total[node]) + ", " + percent(total[node], whole) + " of all" +
      ends(node) + " \u2014 " + D.kinds[l[2]] + leftOut) + (around ? "; its callers and what it calls" : "");
  }
  function element(tag, attributes, parent) {
    var e = document.createElementNS(NS, tag);
    Object.keys(attributes).forEach(function (k) { e.setAttribute(k, attributes[k]); });
    parent.appendChild(e);
    return e;
  }
  // A hue for each kind, a shade of it for each name.
  function color(node) {
    if (!node && !state.sandwich) { return "#d8d8d8"; }
    if (D.diff) {
      var c = compare(node), part = (c.after - c.before) / (Math.max(c.before, c.after) || 1);
      return c.decided ? "hsl(" + (part > 0 ? 8 : 214) + ",85%," + Math.round(88 - 28 * Math.abs(part)) + "%)" :
        "hsl(0,0%,86%)";
    }
    var l = D.labels[label[node]], hash = 0, k;
    for (k = 0; k < l[0].length; k++) { hash = (hash * 31 + l[0].charCodeAt(k)) >>> 0; }
    var base = D.colors[l[2]];
    return "hsl(" + (base[0] + hash % base[1]) + "," + (base[2] + (hash >>> 5) % 10) + "%," +
      (base[3] + (hash >>> 9) % 12) + "%)";
  }

  // As much of a text as fits.  Only the browser knows how wide other letters than ASCII are.
  var pen = null, widths = {};
  function measure(letter) {
    if (!pen) {
      pen = document.createElementNS("http://www.w3.org/1999/xhtml", "canvas").getContext("2d");
      pen.font = FONT;
    }
    if (!(letter in widths)) { widths[letter] = pen.measureText(letter).width; }
    return widths[letter];
  }
  function cut(text, room) {
    var fit = Math.floor(room / CHAR), width = 0, kept = "", all, k;
    if (/^[\x20-\x7e]*$/.test(text)) {
      if (text.length <= fit) { return text; }
      return fit > 2 ? text.slice(0, fit - 1) + "\u2026" : "";
    }
    all = extprofHead.letters(text);
    for (k = 0; k < all.length; k++) {
      width += measure(all[k]);
      if (width > room) { return kept ? kept + "\u2026" : ""; }
      if (width <= room - CHAR) { kept += all[k]; }
    }
    return text;
  }

  // At rest: of what is zoomed to.
  function summarize() {
    return describe(state.zoom) +
      (notDrawn ? " \u2014 " + notDrawn + " narrower frames are not drawn: zoom in" : "");
  }

  // What the window shows, without its scroll bars.
  function seenWidth() { return document.documentElement.clientWidth || window.innerWidth || 1200; }
  function seenHeight() { return document.documentElement.clientHeight || window.innerHeight || height; }

  function draw() {
    var keys = frames.contains(document.activeElement);
    drawAt(Math.max(NARROWEST, seenWidth()));
    // Now that it is as high as it is, there can be a scroll bar.
    if (seenWidth() < +svg.getAttribute("width")) { drawAt(Math.max(NARROWEST, seenWidth())); }
    if (keys) { focus(cursor); }
  }

  // What is drawn: [node, from, width, is above the zoom].
  function choose(inner) {
    var root = state.zoom, span = total[root] || 1, list = [], stack = [root], node, v, w, c;
    for (node = root; node;) {
      node = parent[node];
      list.unshift([node, 0, inner, true]);
    }
    while (stack.length) {
      v = stack.pop();
      w = total[v] / span * inner;
      if (w < MIN) { continue; }
      list.push([v, (x0[v] - x0[root]) / span * inner, w, false]);
      for (c = children[v].length - 1; c >= 0; c--) { stack.push(children[v][c]); }
    }
    notDrawn = Math.max(0, list.length - DRAWN_MAX);
    if (notDrawn) {
      list.sort(function (a, b) { return b[2] - a[2] || Math.abs(depth[a[0]]) - Math.abs(depth[b[0]]) || a[0] - b[0]; });
      list.length = DRAWN_MAX;
    }
    return list;
  }
  function drawFrame(item, to) {
    var v = item[0], x = PAD + item[1], w = item[2], y = top(depth[v]), text;
    var hit = (v || state.sandwich) && pattern && hits[label[v]];
    var g = element("g", { "class": "f" + (item[3] ? " parent" : ""), "data-n": v, role: "treeitem",
      "aria-level": Math.abs(depth[v]) + 1, tabindex: v === cursor ? 0 : -1 }, to);
    element("title", {}, g).textContent = describe(v);
    element("rect", { x: x.toFixed(2), y: y, width: Math.max(w - 0.4, MIN).toFixed(2),
      height: ROW - 1, rx: w > 4 ? 2 : 0, fill: hit ? "#e43fd8" : color(v) }, g);
    if (hit) { g.classList.add("hit"); }
    if (state.sandwich && !v) { g.classList.add("pivot"); }
    if (v === state.zoom) { g.setAttribute("aria-current", "true"); }
    if (w > 3 * CHAR && (text = cut(name(v), w - 6))) {
      element("text", { x: (x + 3).toFixed(2), y: y + ROW - 5 }, g).textContent = text;
    }
  }
  // Samples under a match, each once, and of how many nobody knows.
  function match() {
    var covered = 0, unknown = 0, stack = [state.zoom], in_, v;
    if (state.sandwich && !state.zoom) {
      // A stack can have one among the callers and one among the callees.
      in_ = [false];
      for (v = 1; v < chosen.parent.length; v++) {
        in_[v] = in_[chosen.parent[v]] || hits[chosen.label[v]];
        if (tree.outer[v]) {
          covered += in_[v] ? chosen.own[0][v] + chosen.hid[0][v] : 0;
          unknown += in_[v] ? 0 : chosen.hid[0][v];
        }
      }
    } else {
      while (stack.length) {
        v = stack.pop();
        if ((v || state.sandwich) && hits[label[v]]) { covered += total[v]; continue; }
        unknown += hidden[v];
        Array.prototype.push.apply(stack, children[v]);
      }
    }
    return "matched " + percent(covered, total[state.zoom]) + (D.diff ? "" :
      " (" + amount(covered) + (unknown ? "; unknown for " + amount(unknown) + " more" : "") + ")");
  }
  function drawAt(width) {
    var list = choose(width - 2 * PAD), fragment = document.createDocumentFragment();
    lowest = highest = 0;
    list.forEach(function (item) {
      lowest = Math.max(lowest, -depth[item[0]]);
      highest = Math.max(highest, depth[item[0]]);
    });
    if (!list.some(function (item) { return item[0] === cursor; })) { cursor = state.zoom; }
    matched.textContent = pattern ? match() : "";
    setGone("reset", !state.zoom && !pattern);
    TOP = extprofHead.layOut(width);
    height = TOP + (lowest + highest + 1) * ROW + FOOT;
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    list.forEach(function (item) { drawFrame(item, fragment); });
    frames.replaceChildren(fragment);
    shown = list;
    svg.setAttribute("data-shown", list.length);
    tell(summarize());
    place();
  }
  // Inverted, and around one method, what comes first is on top.
  function isDown() { return state.flip !== (state.invert || state.sandwich !== ""); }
  function top(row) { return TOP + (isDown() ? row + lowest : highest - row) * ROW; }
  // Where the graph begins in the page.
  function above() { return D.heat ? svg.getBoundingClientRect().top + (window.pageYOffset || 0) : 0; }
  // The head and the details stay in the window.
  function place() {
    var from = (window.pageYOffset || 0) - above();
    head.setAttribute("transform", "translate(0," + Math.max(0, from) + ")");
    foot.setAttribute("transform", "translate(0," + (Math.min(height, Math.max(TOP + FOOT, from + seenHeight())) - FOOT) + ")");
  }
  // In a narrow window in several lines, which cover the lowest rows.
  var covered = FOOT;
  function tell(text) {
    var inner = svg.getAttribute("width") - 2 * PAD, lines = [], from = 0, n, space;
    details.textContent = text;
    // To ask how long it is makes a browser place all of the graph first.
    if (text.length * CHAR <= inner) { lines.push(text); from = text.length; }
    while (from < text.length && lines.length < LINES_MAX) {
      n = text.length - from;
      // Blanks that follow blanks, and all where the graph is not shown, are no characters for it.
      while (from < details.getNumberOfChars() && n > 1 && details.getSubStringLength(from, n) > inner) { n = Math.max(1, Math.floor(n * 0.95)); }
      space = text.lastIndexOf(" ", from + n - 1);
      if (from + n < text.length && space > from) { n = space - from + 1; }
      lines.push(text.slice(from, from + n));
      from += n;
    }
    if (lines.length > 1) {
      details.replaceChildren();
      lines.forEach(function (line, k) { element("tspan", { x: PAD, dy: k ? LINE : 0 }, details).textContent = line; });
    }
    lines = Math.max(0, lines.length - 1) * LINE;
    details.setAttribute("y", FOOT - 12 - lines);
    foot.firstElementChild.setAttribute("y", -lines);
    covered = FOOT + lines;
    foot.firstElementChild.setAttribute("height", covered);
  }
  // Scroll to the frame, with what it calls beside it.
  function show(node) {
    var y = top(depth[node]) + above();
    if (D.heat && !node) { return place(); }
    if (state.sandwich) { y -= Math.max(0, seenHeight() - TOP) / 2; }
    window.scrollTo(0, isDown() || state.sandwich ? y - TOP : y + ROW + FOOT - seenHeight());
    place();
  }

  function remember() {
    var link = [];
    if (state.search) { link.push("search=" + encodeURIComponent(state.search)); }
    if (state.zoom) { link.push("zoom=" + state.zoom); }
    if (state.flip) { link.push("flip=1"); }
    if (state.invert) { link.push("invert=1"); }
    if (state.sandwich) { link.push("sandwich=" + encodeURIComponent(state.sandwich)); }
    if (state.part) { link.push("part=" + state.part); }
    Object.keys(page.link).forEach(function (key) { link.push(key + "=" + encodeURIComponent(page.link[key])); });
    try {
      history.replaceState(null, "", link.length ? "#" + link.join("&") : location.pathname);
    } catch (e) { /* some browsers forbid it for files */ }
  }
  function recall() {
    var zoomed = "";
    state = fresh();
    page.link = {};
    location.hash.slice(1).split("&").forEach(function (part) {
      var eq = part.indexOf("="), key = part.slice(0, eq), value = part.slice(eq + 1);
      try { value = decodeURIComponent(value); } catch (e) { return; }
      if (key === "search") { state.search = value; }
      if (key === "zoom") { zoomed = value; }
      if (key === "flip") { state.flip = value === "1"; }
      if (key === "invert") { state.invert = value === "1"; }
      if (key === "sandwich") { state.sandwich = value; }
      if (key === "part" && isPart(value)) { state.part = value; }
      if (D.heat && /^(span|rows|view|apart)$/.test(key)) { page.link[key] = value; }
    });
    // This can be another tree.
    if (page.recalled) { page.recalled(); } else { makeView(); }
    // A number, or a name: its widest frame.
    if (zoomed) { state.zoom = /^[0-9]+$/.test(zoomed) ? +zoomed : widest(zoomed); }
    if (!(state.zoom > 0 && state.zoom < n)) { state.zoom = 0; }
    cursor = state.zoom;
    if (input) { input.value = state.search; }
    if (parts) { parts.value = state.part; }
    compile();
    draw();
    show(state.zoom);
  }
  function isPart(value) {
    return value === "all" || (/^[0-9]+$/.test(value) && +value > 0 && groups[+value] > 0);
  }
  function widest(text) {
    var best = 0;
    for (var k = 1; k < n; k++) {
      if (name(k) === text && (!best || total[k] > total[best])) { best = k; }
    }
    return best;
  }
  // A regular expression for names, or after "file:" for files; what is none
  // is taken literally.
  function compile() {
    var file = /^file:/.test(state.search), text = file ? state.search.slice(5) : state.search;
    pattern = null;
    if (text) {
      try { pattern = new RegExp(text, "i"); }
      catch (e) { pattern = new RegExp(text.replace(/[^\w ]/g, "\\$&"), "i"); }
    }
    hits = D.labels.map(function (l) { return !!pattern && pattern.test(l[file ? 1 : 0]); });
  }
  function search(text) { state.search = text; compile(); remember(); draw(); }
  function zoom(node) { state.zoom = cursor = node; remember(); draw(); show(node); }
  function flip() { state.flip = !state.flip; remember(); draw(); show(state.zoom); }
  // Another view begins without a zoom.
  function view(change) {
    change();
    state.zoom = 0;
    makeView();
    remember();
    draw();
    show(0);
  }
  function invert() { view(function () { state.invert = state.sandwich ? true : !state.invert; state.sandwich = ""; }); }
  function around(node) {
    if (state.sandwich && !node) { return view(function () { state.sandwich = ""; }); }
    if (!node || groupKinds[D.labels[label[node]][2]]) {
      tell("choose a frame first: click on it, or move to it by keys");
      return undefined;
    }
    return view(function () { state.sandwich = D.labels[label[node]][0]; });
  }

  // -- keys ---------------------------------------------------------------------------------------

  function focus(node) {
    var old = frames.querySelector('[tabindex="0"]'), g = frames.querySelector('[data-n="' + node + '"]'), box;
    if (!g) { return; }
    if (old) { old.setAttribute("tabindex", -1); }
    cursor = node;
    g.setAttribute("tabindex", 0);
    g.focus({ preventScroll: true });
    tell(describe(node));
    // Neither the head nor the details hide it.
    box = g.getBoundingClientRect();
    if (box.top < TOP) { window.scrollBy(0, box.top - TOP); }
    if (box.bottom > seenHeight() - covered) { window.scrollBy(0, box.bottom - seenHeight() + covered); }
  }
  // The frame that is next in that direction.
  function beside(dx, dy) {
    var here = shown.find(function (item) { return item[0] === cursor; }), row, near;
    if (!here) { return state.zoom; }
    if (dx) {
      row = shown.filter(function (item) { return depth[item[0]] === depth[cursor] && (item[1] - here[1]) * dx > 0; });
      return row.reduce(function (a, b) { return !a || (b[1] - a[1]) * dx < 0 ? b : a; }, null);
    }
    row = depth[cursor] + (isDown() ? dy : -dy);
    near = shown.filter(function (item) {
      return depth[item[0]] === row && (item[0] === parent[cursor] || parent[item[0]] === cursor) && item[0] !== cursor;
    });
    return near.reduce(function (a, b) { return !a || b[2] > a[2] ? b : a; }, null);
  }
  function move(dx, dy) {
    var to = beside(dx, dy);
    if (to) { focus(to[0]); }
  }
  var MOVES = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  function keyOfFrame(e) {
    if (MOVES[e.key]) { e.preventDefault(); return move(MOVES[e.key][0], MOVES[e.key][1]); }
    if (e.key === "Home") { e.preventDefault(); return focus(state.zoom); }
    if (e.key === "Enter" || e.key === " ") { e.preventDefault(); return zoom(cursor); }
    return undefined;
  }
  function of(event) {
    var g = event.target.closest ? event.target.closest("g.f") : null;
    return g ? +g.getAttribute("data-n") : -1;
  }

  frames.addEventListener("click", function (e) {
    var v = of(e);
    if (v >= 0 && e.shiftKey) { around(v); } else if (v >= 0) { zoom(v); }
  });
  frames.addEventListener("mouseover", function (e) {
    var v = of(e);
    if (v >= 0) { tell(describe(v)); }
  });
  frames.addEventListener("mouseout", function () { tell(summarize()); });
  // A listener of the frames themselves would make their group a stop of the tabulator.
  document.addEventListener("focusin", function (e) {
    if (of(e) >= 0) { cursor = of(e); tell(describe(cursor)); }
  });
  frames.addEventListener("keydown", keyOfFrame);
  function button(id, act) {
    var b = document.getElementById(id);
    b.addEventListener("click", act);
    b.addEventListener("keydown", function (e) {
      if (e.key === "Enter" || e.key === " ") { e.preventDefault(); act(); }
    });
  }
  button("reset", function () {
    state.zoom = cursor = 0;
    if (input) { input.value = ""; }
    search("");
  });
  button("flip", flip);
  button("invert", invert);
  button("sandwich", function () { around(state.zoom || (state.sandwich ? 0 : cursor)); });
  if (input) { input.addEventListener("input", function () { search(input.value); }); }
  if (parts) { parts.addEventListener("change", function () { view(function () { state.part = parts.value; }); }); }
  window.addEventListener("keydown", function (e) {
    if (e.target === input || (e.target.closest && e.target.closest("select, input, textarea"))) {
      if (e.key === "Escape") { e.target.blur(); }
      return;
    }
    if (e.ctrlKey || e.altKey || e.metaKey) { return; }
    if (e.key === "/" && input) { e.preventDefault(); input.focus(); }
    if (e.key === "Escape") { zoom(0); }
    if (e.key === "f") { flip(); }
    if (e.key === "i") { invert(); }
    if (e.key === "s") { around(frames.contains(document.activeElement) ? cursor : state.zoom); }
  });
  window.addEventListener("resize", function () { draw(); });
  window.addEventListener("scroll", place);
  // Only now is it known how high the window is.
  window.addEventListener("load", function () { show(state.zoom); });
  window.addEventListener("hashchange", recall);
  listParts();
  // Those of the file would be laid out before they are replaced.
  frames.replaceChildren();
  recall();

  if (D.heat) {
    page.parent = base.parent;
    page.label = base.label;
    page.amount = amount;
    page.remember = remember;
    page.recall = recall;
    // Show another tree, or the same with other amounts.
    page.load = function (newParent, newLabel, newSelf, newHidden, newGroups, keepsZoom) {
      var same = newParent === base.parent && tree === base;
      base = { parent: newParent, label: newLabel, side: new Array(newParent.length).fill(1), own: [newSelf], hid: [newHidden],
        groups: newGroups };
      if (!keepsZoom && !same) { state.zoom = 0; }
      makeView();
      draw();
    };
    window.extprofPage = page;
  }
})();
