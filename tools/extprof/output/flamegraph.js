// SPDX-License-Identifier: BSD-2-Clause
// Draws the graph and answers clicks.  `D` is the profile: see flamegraph.c.
// No markup is ever made from text: names only go into text nodes.
"use strict";
(function () {
  var NS = "http://www.w3.org/2000/svg";
  var ROW = 17, PAD = 10, TOP = D.top, FOOT = 30, CHAR = 7.25, MIN = 0.25;
  var DRAWN_MAX = 30000;  // frames: more take a browser seconds
  var FONT = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';
  var svg = document.getElementById("graph");
  var frames = document.getElementById("frames");
  var details = document.getElementById("details");
  var matched = document.getElementById("matched");
  var head = document.getElementById("head"), foot = document.getElementById("foot");
  var title = document.getElementById("title"), command = title.textContent;
  var input = document.getElementById("search");
  // By node. `hidden`: samples of those of its children that the file leaves out; `missing`: the
  // sum of it over the node and all above it.
  var parent = [0], label = [0], self = [D.root[0]], hidden = [D.root[1]];
  var n, total, missing, depth, x0, children = [], i, last = 0, notDrawn = 0;
  var state = { zoom: 0, search: "", flip: false };
  var rows = 1, height = 0;
  var page = { link: {}, recalled: null };  // what is around the graph: its part of the link
  var pattern = null, hits = new Array(D.labels.length).fill(false);

  function add(number) {
    parent.push(last);
    label.push(number);
    self.push(0);
    hidden.push(0);
    last = parent.length - 1;
  }
  D.runs.forEach(function (run) {
    var k, again;
    for (k = run[0]; k > 0; k--) { last = parent[last]; }
    for (k = 3; k < run.length; k++) {
      if (run[k] >= 0) { add(run[k]); }
      for (again = run[k]; again < 0; again++) { add(label[last]); }
    }
    self[last] = run[1];
    hidden[last] = run[2];
  });

  // Children come after their parents, in the order of drawing.
  function measureTree() {
    n = parent.length;
    total = new Array(n).fill(0);
    missing = hidden.slice();
    depth = new Array(n).fill(0);
    x0 = new Array(n).fill(0);
    children = [];
    for (i = 0; i < n; i++) { total[i] += self[i] + hidden[i]; children.push([]); }
    for (i = n - 1; i > 0; i--) { total[parent[i]] += total[i]; missing[parent[i]] += missing[i]; }
    for (i = 1; i < n; i++) {
      depth[i] = depth[parent[i]] + 1;
      children[parent[i]].push(i);
    }
    for (i = 0; i < n; i++) {
      var at = x0[i];
      children[i].forEach(function (c) { x0[c] = at; at += total[c]; });
    }
  }
  measureTree();

  function name(node) { return node ? D.labels[label[node]][0] : "all"; }
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
  // What has changed, of a graph that compares.
  function change(node) {
    var before = D.diff[3 * node] / 1e4, after = D.diff[3 * node + 1] / 1e4, by = after - before;
    return "before " + before.toFixed(2) + " %, after " + after.toFixed(2) + " % (" + (by < 0 ? "" : "+") + by.toFixed(2) +
      (D.diff[3 * node + 2] ? ")" : ", may be noise)");
  }
  function describe(node) {
    if (D.diff) {
      if (!node) { return "all: as wide as the mean of both shares"; }
      var d = D.labels[label[node]];
      return d[0] + (d[1] ? " (" + d[1] + ")" : "") + " \u2014 " + change(node);
    }
    var leftOut = missing[node] ? "; " + amount(missing[node]) + " end in frames that are not in this file" : "";
    if (!node) { return "all: " + amount(total[0]) + leftOut; }
    var l = D.labels[label[node]];
    var text = l[0] + (l[1] ? " (" + l[1] + ")" : "");
    return text + " \u2014 " + amount(total[node]) + ", " + percent(total[node], total[0]) +
      " of all; itself " + amount(self[node]) + ", " + percent(self[node], total[0]) +
      " \u2014 " + D.kinds[l[2]] + leftOut;
  }
  function element(tag, attributes, parent) {
    var e = document.createElementNS(NS, tag);
    Object.keys(attributes).forEach(function (k) { e.setAttribute(k, attributes[k]); });
    parent.appendChild(e);
    return e;
  }
  // A hue for each kind, a shade of it for each name.
  function color(node) {
    if (!node) { return "#d8d8d8"; }
    if (D.diff) {
      var before = D.diff[3 * node], after = D.diff[3 * node + 1], part = (after - before) / (Math.max(before, after) || 1);
      return D.diff[3 * node + 2] ? "hsl(" + (part > 0 ? 8 : 214) + ",85%," + Math.round(88 - 28 * Math.abs(part)) + "%)" :
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
  function letters(text) {
    if (!window.Intl || !Intl.Segmenter) { return Array.from(text); }
    return Array.from(new Intl.Segmenter().segment(text), function (s) { return s.segment; });
  }
  function cut(text, room) {
    var fit = Math.floor(room / CHAR), width = 0, kept = "", all, k;
    if (/^[\x20-\x7e]*$/.test(text)) {
      if (text.length <= fit) { return text; }
      return fit > 2 ? text.slice(0, fit - 1) + "\u2026" : "";
    }
    all = letters(text);
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
    drawAt(Math.max(480, seenWidth()));
    // Now that it is as high as it is, there can be a scroll bar.
    if (seenWidth() < +svg.getAttribute("width")) { drawAt(Math.max(480, seenWidth())); }
  }

  function drawAt(width) {
    var inner = width - 2 * PAD, root = state.zoom, span = total[root] || 1;
    var covered = 0, unknown = 0, fragment = document.createDocumentFragment();
    var path = [], node, count = 0;
    rows = 1;
    for (node = root; node; node = parent[node]) { path.unshift(node); }
    path.unshift(0);
    if (root === 0) { path = [0]; }
    // Rows in use: those of the zoomed subtree and of the path to it.
    var list = [];
    path.forEach(function (p) { if (p !== root) { list.push([p, 0, inner, depth[p], true]); } });
    (function visit(first) {
      var stack = [first];
      while (stack.length) {
        var v = stack.pop();
        var w = total[v] / span * inner;
        if (w < MIN) { continue; }
        list.push([v, (x0[v] - x0[root]) / span * inner, w, depth[v], false]);
        for (var c = children[v].length - 1; c >= 0; c--) { stack.push(children[v][c]); }
      }
    })(root);
    notDrawn = Math.max(0, list.length - DRAWN_MAX);
    if (notDrawn) {
      list.sort(function (a, b) { return b[2] - a[2] || a[3] - b[3] || a[0] - b[0]; });
      list.length = DRAWN_MAX;
    }
    list.forEach(function (item) { rows = Math.max(rows, item[3] + 1); });
    height = TOP + rows * ROW + FOOT;
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    svg.setAttribute("viewBox", "0 0 " + width + " " + height);
    list.forEach(function (item) {
      var v = item[0], x = PAD + item[1], w = item[2];
      var y = top(item[3]);
      var hit = v && pattern && hits[label[v]];
      var g = element("g", { "class": "f" + (item[4] ? " parent" : ""), "data-n": v }, fragment);
      element("title", {}, g).textContent = describe(v);
      element("rect", { x: x.toFixed(2), y: y, width: Math.max(w - 0.4, MIN).toFixed(2),
        height: ROW - 1, rx: w > 4 ? 2 : 0, fill: hit ? "#e43fd8" : color(v) }, g);
      if (w > 3 * CHAR) {
        var text = cut(name(v), w - 6);
        if (text) {
          element("text", { x: (x + 3).toFixed(2), y: y + ROW - 5 }, g).textContent = text;
        }
      }
      count++;
    });
    frames.replaceChildren(fragment);
    svg.setAttribute("data-shown", count);
    details.textContent = summarize();
    // Samples under a match, each once: not below another match.
    if (pattern) {
      var stack = [root];
      while (stack.length) {
        var v = stack.pop();
        if (v && hits[label[v]]) { covered += total[v]; continue; }
        unknown += hidden[v];
        children[v].forEach(function (c) { stack.push(c); });
      }
      matched.textContent = "matched " + percent(covered, total[root]) + (D.diff ? "" :
        " (" + amount(covered) + (unknown ? "; unknown for " + amount(unknown) + " more" : "") + ")");
    } else {
      matched.textContent = "";
    }
    document.getElementById("reset").style.display = root || pattern ? "" : "none";
    matched.setAttribute("x", width - PAD);
    fit(width);
    place();
  }
  // What was found is whole; the command has the room that is left.
  function fit(width) {
    var room = width - 3 * PAD - matched.getComputedTextLength(), all = letters(command), k = all.length;
    title.textContent = command;
    while (k > 0 && title.getComputedTextLength() > room) {
      k -= 1 + (k >> 4);
      title.textContent = all.slice(0, Math.max(k, 0)).join("") + "\u2026";
    }
  }
  function top(row) { return TOP + (state.flip ? row : rows - 1 - row) * ROW; }
  // Where the graph begins in the page.
  function above() { return D.heat ? svg.getBoundingClientRect().top + (window.pageYOffset || 0) : 0; }
  // The head and the details stay in the window.
  function place() {
    var from = (window.pageYOffset || 0) - above();
    head.setAttribute("transform", "translate(0," + Math.max(0, from) + ")");
    foot.setAttribute("transform", "translate(0," + (Math.min(height, Math.max(TOP + FOOT, from + seenHeight())) - FOOT) + ")");
  }
  // Scroll to the frame, with what it calls beside it.
  function show(node) {
    var y = top(depth[node]) + above();
    if (D.heat && !node) { return place(); }
    window.scrollTo(0, state.flip ? y - TOP : y + ROW + FOOT - seenHeight());
    place();
  }

  function remember() {
    var parts = [];
    if (state.search) { parts.push("search=" + encodeURIComponent(state.search)); }
    if (state.zoom) { parts.push("zoom=" + state.zoom); }
    if (state.flip) { parts.push("flip=1"); }
    Object.keys(page.link).forEach(function (key) { parts.push(key + "=" + encodeURIComponent(page.link[key])); });
    try {
      history.replaceState(null, "", parts.length ? "#" + parts.join("&") : location.pathname);
    } catch (e) { /* some browsers forbid it for files */ }
  }
  function recall() {
    var zoomed = "";
    state = { zoom: 0, search: "", flip: false };
    page.link = {};
    location.hash.slice(1).split("&").forEach(function (part) {
      var eq = part.indexOf("="), key = part.slice(0, eq), value = part.slice(eq + 1);
      try { value = decodeURIComponent(value); } catch (e) { return; }
      if (key === "search") { state.search = value; }
      if (key === "zoom") { zoomed = value; }
      if (key === "flip") { state.flip = value === "1"; }
      if (D.heat && /^(span|rows|view|apart)$/.test(key)) { page.link[key] = value; }
    });
    // This can be another tree.
    if (page.recalled) { page.recalled(); }
    // A number, or a name: its widest frame.
    if (zoomed) { state.zoom = /^[0-9]+$/.test(zoomed) ? +zoomed : widest(zoomed); }
    if (!(state.zoom > 0 && state.zoom < n)) { state.zoom = 0; }
    if (input) { input.value = state.search; }
    compile();
    draw();
    show(state.zoom);
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
  function zoom(node) { state.zoom = node; remember(); draw(); show(node); }
  function of(event) {
    var g = event.target.closest ? event.target.closest("g.f") : null;
    return g ? +g.getAttribute("data-n") : -1;
  }

  frames.addEventListener("click", function (e) { var v = of(e); if (v >= 0) { zoom(v); } });
  frames.addEventListener("mouseover", function (e) {
    var v = of(e);
    if (v >= 0) { details.textContent = describe(v); }
  });
  frames.addEventListener("mouseout", function () { details.textContent = summarize(); });
  document.getElementById("reset").addEventListener("click", function () {
    state.zoom = 0;
    if (input) { input.value = ""; }
    search("");
  });
  document.getElementById("flip").addEventListener("click", function () {
    state.flip = !state.flip;
    remember();
    draw();
    show(state.zoom);
  });
  if (input) { input.addEventListener("input", function () { search(input.value); }); }
  window.addEventListener("keydown", function (e) {
    if (e.target === input) {
      if (e.key === "Escape") { input.blur(); }
      return;
    }
    if (e.key === "/" && input) { e.preventDefault(); input.focus(); }
    if (e.key === "Escape") { zoom(0); }
  });
  window.addEventListener("resize", function () { draw(); });
  window.addEventListener("scroll", place);
  // Only now is it known how high the window is.
  window.addEventListener("load", function () { show(state.zoom); });
  window.addEventListener("hashchange", recall);
  recall();

  if (D.heat) {
    page.parent = parent;
    page.label = label;
    page.amount = amount;
    page.remember = remember;
    page.recall = recall;
    // Show another tree, or the same with other amounts.
    page.load = function (newParent, newLabel, newSelf, newHidden, keepsZoom) {
      if (!keepsZoom && newParent !== parent) { state.zoom = 0; }
      parent = newParent;
      label = newLabel;
      self = newSelf;
      hidden = newHidden;
      measureTree();
      draw();
    };
    window.extprofPage = page;
  }
})();
