// SPDX-License-Identifier: BSD-2-Clause
// The tree of the file, and views of it that are trees again.  Nothing here knows the page.
//
// A tree has `parent` and `label` of each node, parents before their children, and `groups`: so many levels are threads and
// the like.  `own[0]` is what ends in a node, `hid[0]` what ends in frames below it that the tree has not.  A graph that
// compares also has the amounts before and after, and the squares of both: [1] to [4].  `side`: -1 for callers of the root.
"use strict";
var extprofTree = (function () {
  // A tree of callers can have millions of nodes.  The widest are shown, and what is missing is said.
  var NODES_MAX = 60000, WORK_MAX = 2000000;
  var COLUMNS = D.diff ? 5 : 1;
  var MISSING = D.labels.length;
  D.labels.push(["[not in this file]", "", D.kinds.indexOf("other")]);

  function columns() {
    var list = [], k;
    for (k = 0; k < COLUMNS; k++) { list.push([]); }
    return list;
  }
  function start(groups) {
    var t = { parent: [], label: [], side: [], own: columns(), hid: columns(), groups: groups, sorts: true };
    add(t, 0, MISSING, 0);
    return t;
  }
  function add(t, parent, label, side) {
    var k;
    t.parent.push(parent);
    t.label.push(label);
    t.side.push(side);
    for (k = 0; k < COLUMNS; k++) { t.own[k].push(0); t.hid[k].push(0); }
    return t.parent.length - 1;
  }
  function put(to, node, from, i) {
    for (var k = 0; k < COLUMNS; k++) { to[k][node] += from[k][i]; }
  }
  function child(t, places, parent, label) {
    var key = parent * D.labels.length + label, node = places.get(key);
    if (node === undefined) { places.set(key, node = add(t, parent, label, 1)); }
    return node;
  }
  function depths(t) {
    var depth = [0], v;
    for (v = 1; v < t.parent.length; v++) { depth.push(depth[t.parent[v]] + 1); }
    return depth;
  }
  function isSome(from, node) {
    for (var k = 0; k < COLUMNS; k++) { if (from[k][node]) { return true; } }
    return false;
  }

  // The runs of the file: see flamegraph.c.
  function read() {
    var t = start(D.groups), last = 0, v;
    t.sorts = false;
    t.own[0][0] = D.root[0];
    t.hid[0][0] = D.root[1];
    D.runs.forEach(function (run) {
      var k, again;
      for (k = run[0]; k > 0; k--) { last = t.parent[last]; }
      for (k = 3; k < run.length; k++) {
        if (run[k] >= 0) { last = add(t, last, run[k], 1); }
        for (again = run[k]; again < 0; again++) { last = add(t, last, t.label[last], 1); }
      }
      t.own[0][last] = run[1];
      t.hid[0][last] = run[2];
    });
    if (D.diff) {
      for (v = 0; v < t.parent.length; v++) { compare(t.own, v, D.diff.own, 4 * v); }
      D.diff.hidden.forEach(function (row) { compare(t.hid, row[0], row, 1); });
    }
    return t;
  }
  function compare(to, node, from, at) {
    for (var k = 0; k < 4; k++) { to[k + 1][node] = from[at + k]; }
  }

  // All threads as one.
  function merged(t) {
    var to = start(0), places = new Map(), depth = depths(t), map = [0], v;
    put(to.own, 0, t.own, 0);
    put(to.hid, 0, t.hid, 0);
    for (v = 1; v < t.parent.length; v++) {
      map.push(depth[v] <= t.groups ? 0 : child(to, places, map[t.parent[v]], t.label[v]));
      put(to.own, map[v], t.own, v);
      put(to.hid, map[v], t.hid, v);
    }
    return to;
  }
  // One thread, or another group.
  function part(t, group) {
    var depth = depths(t), to = start(t.groups - depth[group]), map = [], v;
    to.sorts = false;
    map[group] = 0;
    for (v = group; v < t.parent.length; v++) {
      if (v > group && map[t.parent[v]] === undefined) { continue; }
      if (v > group) { map[v] = add(to, map[t.parent[v]], t.label[v], 1); }
      put(to.own, map[v], t.own, v);
      put(to.hid, map[v], t.hid, v);
    }
    return to;
  }

  // -- callers ------------------------------------------------------------------------------------

  // Nodes that wait for their callers, those that have most first.  `at`: of the tree that the view is of, which calls.
  function waiting(node, label) {
    return { node: node, label: label, at: [], sums: columns(), places: new Map(), total: 0 };
  }
  function come(w, at, from, i) {
    var place = w.places.get(at);
    if (place === undefined) {
      w.places.set(at, place = w.at.length);
      w.at.push(at);
      w.sums.forEach(function (s) { s.push(0); });
    }
    put(w.sums, place, from, i);
    w.total += from[0][i];
  }
  function before(a, b) { return a.total > b.total || (a.total === b.total && a.node < b.node); }
  function push(heap, w) {
    var i = heap.length, up;
    heap.push(w);
    while (i && before(w, heap[up = (i - 1) >> 1])) { heap[i] = heap[up]; i = up; }
    heap[i] = w;
  }
  function pop(heap) {
    var top = heap[0], last = heap.pop(), i = 0, c;
    if (!heap.length) { return top; }
    while ((c = 2 * i + 1) < heap.length) {
      if (c + 1 < heap.length && before(heap[c + 1], heap[c])) { c++; }
      if (!before(heap[c], last)) { break; }
      heap[i] = heap[c];
      i = c;
    }
    heap[i] = last;
    return top;
  }
  function climb(t, ends, to, heap, side) {
    var work = 0, w, i, next, full;
    while (heap.length) {
      w = pop(heap);
      work += w.at.length;
      full = work > WORK_MAX || to.parent.length > NODES_MAX;
      next = new Map();
      for (i = 0; i < w.at.length; i++) {
        if (ends(w.at[i])) {
          // Nothing calls it.  The root of a sandwich has what ends in it from the other side.
          if (w.node || side > 0) { put(to.own, w.node, w.sums, i); }
        } else if (full) {
          put(to.hid, w.node, w.sums, i);
        } else {
          if (!next.has(t.label[w.at[i]])) { next.set(t.label[w.at[i]], waiting(0, t.label[w.at[i]])); }
          come(next.get(t.label[w.at[i]]), t.parent[w.at[i]], w.sums, i);
        }
      }
      next.forEach(function (n) {
        n.node = add(to, w.node, n.label, side);
        push(heap, n);
      });
    }
  }

  // Below the groups the innermost frame comes first.
  function inverted(t) {
    var to = start(t.groups), depth = depths(t), map = [0], heap = [], seeds = new Map(), v;
    function seed(group, label, at, from, i) {
      var key = group * D.labels.length + label;
      if (!seeds.has(key)) { seeds.set(key, waiting(add(to, group, label, 1), label)); }
      come(seeds.get(key), at, from, i);
    }
    for (v = 1; v < t.parent.length; v++) {
      map.push(depth[v] <= t.groups ? add(to, map[t.parent[v]], t.label[v], 1) : map[t.parent[v]]);
    }
    for (v = 0; v < t.parent.length; v++) {
      if (depth[v] <= t.groups) {
        put(to.own, map[v], t.own, v);
        put(to.hid, map[v], t.hid, v);
        continue;
      }
      if (isSome(t.own, v)) { seed(map[v], t.label[v], t.parent[v], t.own, v); }
      if (isSome(t.hid, v)) { seed(map[v], MISSING, v, t.hid, v); }
    }
    seeds.forEach(function (w) { push(heap, w); });
    climb(t, function (at) { return depth[at] <= t.groups; }, to, heap, 1);
    return to;
  }

  // Callers and callees of all frames of that name; of a stack with several of them, of the outermost.  null: there is none.
  function sandwich(t, name) {
    var to = start(0), depth = depths(t), sums = columns(), outer = [0], map = [0], places = new Map(), w = waiting(0, 0), v, k;
    for (k = 0; k < COLUMNS; k++) {
      for (v = 0; v < t.parent.length; v++) { sums[k][v] = t.own[k][v] + t.hid[k][v]; }
      for (v = t.parent.length - 1; v > 0; v--) { sums[k][t.parent[v]] += sums[k][v]; }
    }
    for (v = 1; v < t.parent.length; v++) {
      outer[v] = outer[t.parent[v]];
      map[v] = 0;
      if (!outer[v] && depth[v] > t.groups && D.labels[t.label[v]][0] === name) {
        outer[v] = v;
        to.label[0] = t.label[v];
        come(w, t.parent[v], sums, v);
      } else if (outer[v]) {
        map[v] = child(to, places, map[t.parent[v]], t.label[v]);
      }
      if (!outer[v]) { continue; }
      put(to.own, map[v], t.own, v);
      put(to.hid, map[v], t.hid, v);
    }
    if (!w.at.length) { return null; }
    climb(t, function (at) { return !at; }, to, [w], -1);
    to.outer = outer;
    return to;
  }

  return { read: read, merged: merged, part: part, inverted: inverted, sandwich: sandwich, depths: depths };
})();
