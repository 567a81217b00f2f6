// SPDX-License-Identifier: BSD-2-Clause
// Draws the heat map and has the graph show what is selected.  `D.heat`: see heatmap.c.
// No markup is ever made from text: names only go onto the canvas and into text nodes.
(function () {
  var page = window.extprofPage, heat = D.heat, from = heat.from, until = Math.max(heat.until, heat.from) + 1;
  var PERIODS = [5e4, 1e5, 2.5e5, 5e5, 1e6, 2e6, 5e6, 1e7, 1.5e7, 3e7, 6e7, 1.2e8, 3e8, 6e8, 1.8e9, 3.6e9, 7.2e9];  // us
  var COLUMNS = 240, ROWS_SHOWN = 40, NAMES = 220, AXIS = 18, LEFT = 64;
  var FONT = '11px system-ui, "DejaVu Sans", sans-serif';
  var canvas = document.getElementById("cells"), pen = canvas.getContext("2d");
  var view = document.getElementById("view"), apart = document.getElementById("apart");
  var spanText = document.getElementById("span"), cellText = document.getElementById("cell");
  var count = heat.moments.length / 4, k;
  var time = new Float64Array(count), amount = new Float64Array(count), lasts = new Float64Array(count);
  var node = new Int32Array(count), longest = 0;
  // The tree as it is in the file, and with all threads in one.
  var split = { parent: page.parent, label: page.label, map: null }, depth = depths(split.parent), merged = merge();
  // By node of the file: number of its thread and its process.
  var groups = { thread: group("thread"), process: group("process") };
  // null: the whole time, or all rows.  Rows are numbers of groups in the order of the map.
  var chosen = null, rows = null, grid = null, cursor = null, anchor = null;

  (function () {
    var at = 0, much = 0, m = heat.moments;
    for (k = 0; k < count; k++) {
      at += m[4 * k];
      much += m[4 * k + 2];
      time[k] = at;
      node[k] = m[4 * k + 1];
      amount[k] = much;
      lasts[k] = m[4 * k + 3];
      longest = Math.max(longest, lasts[k]);
    }
  })();

  function depths(parent) {
    var depth = [0], v;
    for (v = 1; v < parent.length; v++) { depth.push(depth[parent[v]] + 1); }
    return depth;
  }
  function merge() {
    var places = new Map(), tree = { parent: [0], label: [0], map: [0] }, v, key, to;
    for (v = 1; v < split.parent.length; v++) {
      if (depth[v] <= heat.groups) { tree.map.push(0); continue; }
      to = tree.map[split.parent[v]];
      key = to * D.labels.length + split.label[v];
      if (!places.has(key)) {
        places.set(key, tree.parent.length);
        tree.parent.push(to);
        tree.label.push(split.label[v]);
      }
      tree.map.push(places.get(key));
    }
    return tree;
  }
  // Names of the groups of that kind, and which one each node of the file is of.
  function group(kind) {
    var names = [], of = [-1], places = new Map(), wanted = D.kinds.indexOf(kind), v, key;
    for (v = 1; v < split.parent.length; v++) {
      of.push(of[split.parent[v]]);
      if (depth[v] > heat.groups || D.labels[split.label[v]][2] !== wanted) { continue; }
      // Threads of two processes can have one name.
      key = (kind === "thread" ? split.parent[v] * D.labels.length : 0) + split.label[v];
      if (!places.has(key)) { places.set(key, names.length); names.push(D.labels[split.label[v]][0]); }
      of[v] = places.get(key);
    }
    return { names: names, of: of };
  }
  function groupOf(kind, k) {
    var v = node[k] < 0 ? -1 - node[k] : node[k];
    return groups[kind].of[v];
  }

  // How much of a moment is in a time.
  function part(k, since, to) {
    if (!lasts[k]) { return time[k] >= since && time[k] < to ? amount[k] : 0; }
    var over = Math.min(to, time[k] + lasts[k]) - Math.max(since, time[k]);
    return over > 0 ? amount[k] * over / lasts[k] : 0;
  }
  // The first moment that can reach that time: moments are in the order of their begin.
  function firstAt(at) {
    var low = 0, high = count, middle;
    at -= longest;
    while (low < high) {
      middle = (low + high) >> 1;
      if (time[middle] < at) { low = middle + 1; } else { high = middle; }
    }
    return low;
  }

  // -- what is selected ----------------------------------------------------------------------------

  function show(keepsZoom) {
    var tree = apart.checked ? split : merged, size = tree.parent.length;
    var self = new Array(size).fill(0), hidden = new Array(size).fill(0), sum = 0;
    var since = chosen ? chosen[0] : -Infinity, to = chosen ? chosen[1] : Infinity, some, v, m;
    var wanted = [];
    if (rows) { rows.groups.forEach(function (i) { wanted[i] = true; }); }
    for (m = chosen ? firstAt(since) : 0; m < count && time[m] < to; m++) {
      if (rows && !wanted[groupOf(rows.kind, m)]) { continue; }
      some = part(m, since, to);
      if (!some) { continue; }
      v = node[m] < 0 ? -1 - node[m] : node[m];
      v = tree.map ? tree.map[v] : v;
      (node[m] < 0 ? hidden : self)[v] += some;
      sum += some;
    }
    for (v = 0; v < size; v++) { self[v] = Math.round(self[v]); hidden[v] = Math.round(hidden[v]); }
    spanText.textContent = (chosen ? clock(since) + " to " + clock(to) + " (" + seconds(to - since) + ")" : "whole time (" +
      seconds(until - from) + ")") + (rows ? ", " + rows.groups.length + " " + rows.kind + (rows.groups.length > 1 ?
      (rows.kind === "thread" ? "s" : "es") : "") : "") + ": " + page.amount(Math.round(sum));
    page.load(tree.parent, tree.label, self, hidden, tree === split ? heat.groups : 0, keepsZoom);
  }
  function seconds(us) { return us < 1e6 ? (us / 1e3).toFixed(us < 1e4 ? 2 : 0) + " ms" : (us / 1e6).toFixed(2) + " s"; }
  // The time of the day where it is known, else since the begin.
  function clock(us) {
    if (!heat.wall) { return (us / 1e6).toFixed(3) + " s"; }
    var d = new Date(heat.wall + us / 1e3), two = function (n) { return (n < 10 ? "0" : "") + n; };
    return two(d.getHours()) + ":" + two(d.getMinutes()) + ":" + two(d.getSeconds()) + "." + ("00" + d.getMilliseconds()).slice(-3);
  }
  function link() {
    var l = page.link;
    ["span", "rows", "view", "apart"].forEach(function (key) { delete l[key]; });
    if (chosen) { l.span = Math.round(chosen[0]) + "-" + Math.round(chosen[1]); }
    if (rows) { l.rows = rows.kind + ":" + rows.groups.join(","); }
    if (view.value !== "offset") { l.view = view.value; }
    if (apart.checked) { l.apart = "1"; }
    page.remember();
  }
  page.recalled = function () {
    var l = page.link, span = /^(\d+)-(\d+)$/.exec(l.span || ""), some = /^(thread|process):([\d,]+)$/.exec(l.rows || "");
    view.value = l.view === "thread" || l.view === "process" ? l.view : "offset";
    // One process needs no rows.
    if (!view.value) { view.value = "offset"; }
    apart.checked = l.apart === "1";
    chosen = span && +span[1] < +span[2] ? [+span[1], +span[2]] : null;
    rows = some ? { kind: some[1], groups: some[2].split(",").map(Number) } : null;
    draw();
    show(true);
  };

  // -- the map -----------------------------------------------------------------------------------------

  // Amounts of cells, by at().
  function makeGrid() {
    var length = until - from, g = { kind: view.value }, period, m;
    period = PERIODS.find(function (p) { return length / p <= COLUMNS; }) || length / COLUMNS;
    g.columns = Math.max(1, Math.ceil(length / period));
    if (g.kind === "offset") {
      // About one sample in each cell that has some.
      g.rows = Math.max(10, Math.min(50, Math.round(count / g.columns)));
      g.cell = period / g.rows;
      g.order = null;
    } else {
      orderRows(g);
      g.cell = period;
    }
    g.period = period;
    g.values = new Float64Array(g.columns * g.rows);
    g.steps = new Float64Array(g.columns * g.rows + 1);
    for (m = 0; m < count; m++) { addMoment(g, m); }
    fill(g);
    g.most = g.values.reduce(function (a, b) { return Math.max(a, b); }, 0);
    return g;
  }
  // Those that have most come first; the others share the last row.
  function orderRows(g) {
    var sums = groups[g.kind].names.map(function (_, i) { return [i, 0]; }), m;
    for (m = 0; m < count; m++) { if (groupOf(g.kind, m) >= 0) { sums[groupOf(g.kind, m)][1] += amount[m]; } }
    if (!sums.length) { sums.push([0, 0]); }
    sums.sort(function (a, b) { return b[1] - a[1] || a[0] - b[0]; });
    g.order = sums.map(function (s) { return s[0]; });
    g.rows = Math.max(1, Math.min(ROWS_SHOWN, g.order.length));
    g.rowOf = [];
    g.order.forEach(function (i, row) { g.rowOf[i] = Math.min(row, g.rows - 1); });
  }
  // Cells of a row are one after the other in time; within a column, all cells are.
  function at(g, column, row) { return g.order ? row * g.columns + column : column * g.rows + row; }
  function addMoment(g, m) {
    var row = g.order ? g.rowOf[groupOf(g.kind, m)] : 0, cells = g.order ? g.columns : g.columns * g.rows;
    var begin = Math.max(time[m], from) - from, end = Math.min(time[m] + lasts[m], until) - from, base, first, last, rate;
    // The thread is not in the file.
    if (row === undefined) { row = g.rows - 1; }
    base = row * g.columns;
    first = Math.min(cells - 1, Math.floor(begin / g.cell));
    last = Math.max(first, Math.min(cells - 1, Math.floor(end / g.cell)));
    if (!lasts[m] || first === last) {
      g.values[base + first] += lasts[m] ? amount[m] * Math.max(0, end - begin) / lasts[m] : amount[m];
      return;
    }
    // Those between the first and the last cell have the same of it.
    rate = amount[m] / lasts[m];
    g.values[base + first] += rate * ((first + 1) * g.cell - begin);
    g.values[base + last] += rate * (end - last * g.cell);
    g.steps[base + first + 1] += rate * g.cell;
    g.steps[base + last] -= rate * g.cell;
  }
  // Add what is between: each step begins and ends within its row.
  function fill(g) {
    var sum = 0, i;
    for (i = 0; i < g.values.length; i++) {
      sum += g.steps[i];
      // Sums of fractions do not come back to 0.
      if (sum > 1e-6 * g.cell) { g.values[i] += sum; }
    }
  }
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  function left() { return grid.order ? Math.min(NAMES, canvas.clientWidth / 3) : LEFT; }
  function cellTime(column, row) {
    var begin = from + column * grid.period + (grid.order ? 0 : row * grid.cell);
    return [begin, Math.min(until, begin + grid.cell)];
  }
  // Of most there is the strongest colour, that is furthest from the page.
  function color(value) {
    var share = grid.most ? Math.sqrt(value / grid.most) : 0, light = dark.matches ? 22 + 46 * share : 88 - 50 * share;
    if (!value) { return dark.matches ? "#29292c" : "#f4f4f4"; }
    return "hsl(" + Math.round(dark.matches ? 4 + 44 * share : 48 - 44 * share) + ",92%," + Math.round(light) + "%)";
  }
  function rowHeight() { return grid.order ? 15 : Math.max(5, Math.min(20, Math.floor(260 / grid.rows))); }

  function draw() {
    var ratio = window.devicePixelRatio || 1, width = canvas.clientWidth || 1180, high, c, r, x, w;
    if (!grid || grid.kind !== view.value) { grid = makeGrid(); }
    high = grid.rows * rowHeight();
    canvas.style.height = high + AXIS + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round((high + AXIS) * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = FONT;
    pen.textBaseline = "middle";
    w = (width - left()) / grid.columns;
    for (c = 0; c < grid.columns; c++) {
      for (r = 0; r < grid.rows; r++) {
        pen.fillStyle = color(grid.values[at(grid, c, r)]);
        x = left() + c * w;
        pen.fillRect(x, r * rowHeight(), w > 3 ? w - 0.5 : w + 0.2, rowHeight() - (rowHeight() > 6 ? 0.5 : 0));
      }
    }
    pen.fillStyle = dark.matches ? "#e8e8e8" : "#1b1b1b";
    for (r = 0; r < grid.rows; r++) {
      if (grid.order) {
        drawText(rowName(r), 0, (r + 0.5) * rowHeight(), left() - 6);
      } else if (r === 0 || r === grid.rows >> 1) {
        drawText(r ? seconds(r * grid.cell) : "0", 0, Math.max(7, (r + 0.5) * rowHeight()), left() - 6);
      }
    }
    drawAxis(width, high, w);
    drawChosen(w);
    canvas.setAttribute("data-columns", grid.columns);
    canvas.setAttribute("data-rows", grid.rows);
    canvas.setAttribute("data-sum", Math.round(grid.values.reduce(function (a, b) { return a + b; }, 0)));
  }
  function rowName(r) {
    var more = grid.order.length - grid.rows;
    return more && r === grid.rows - 1 ? more + 1 + " others" : groups[grid.kind].names[grid.order[r]] || "";
  }
  function drawText(text, x, y, room) {
    var all = Array.from(text), k = all.length;
    while (k > 1 && pen.measureText(text).width > room) {
      k -= 1 + (k >> 4);
      text = all.slice(0, k).join("") + "\u2026";
    }
    pen.fillText(text, x, y);
  }
  function drawAxis(width, high, w) {
    var every = Math.max(1, Math.ceil(90 / w)), c;
    for (c = 0; c < grid.columns; c += every) {
      if (left() + c * w + 80 < width) { pen.fillText(clock(cellTime(c, 0)[0]), left() + c * w, high + AXIS / 2 + 2); }
    }
  }
  function drawChosen(w) {
    var c, r, t, inRows, wanted = [];
    if (!chosen && !rows) { return; }
    if (rows) { rows.groups.forEach(function (i) { wanted[i] = true; }); }
    pen.fillStyle = "rgba(11,87,208,0.35)";
    for (c = 0; c < grid.columns; c++) {
      for (r = 0; r < grid.rows; r++) {
        t = cellTime(c, r);
        inRows = !rows || !grid.order || rows.kind !== grid.kind || wanted[grid.order[r]];
        if (inRows && (!chosen || (t[0] < chosen[1] && t[1] > chosen[0]))) {
          pen.fillRect(left() + c * w, r * rowHeight(), w, rowHeight());
        }
      }
    }
  }

  // -- the mouse and the keys --------------------------------------------------------------------------

  function cellAt(event) {
    var box = canvas.getBoundingClientRect(), w = (canvas.clientWidth - left()) / grid.columns;
    return {
      column: Math.max(0, Math.min(grid.columns - 1, Math.floor((event.clientX - box.left - left()) / w))),
      row: Math.max(0, Math.min(grid.rows - 1, Math.floor((event.clientY - box.top) / rowHeight())))
    };
  }
  // From one cell to another: times in a row, or a rectangle of times and rows.
  function choose(a, b) {
    var s = cellTime(a.column, a.row), t = cellTime(b.column, b.row), r, first, last;
    chosen = [Math.min(s[0], t[0]), Math.max(s[1], t[1])];
    rows = null;
    if (grid.order) {
      first = Math.min(a.row, b.row);
      last = Math.max(a.row, b.row);
      rows = { kind: grid.kind, groups: [] };
      for (r = 0; r < grid.order.length; r++) {
        if (grid.rowOf[grid.order[r]] >= first && grid.rowOf[grid.order[r]] <= last) { rows.groups.push(grid.order[r]); }
      }
    }
  }
  function describe(cell) {
    var t = cellTime(cell.column, cell.row);
    cellText.textContent = clock(t[0]) + ", " + seconds(t[1] - t[0]) + (grid.order ? ", " + rowName(cell.row) : "") + ": " +
      page.amount(Math.round(grid.values[at(grid, cell.column, cell.row)]));
  }
  function whole() { chosen = rows = cursor = anchor = null; update(); }
  function update() { draw(); show(false); link(); }

  canvas.addEventListener("pointerdown", function (e) {
    anchor = cursor = cellAt(e);
    choose(anchor, cursor);
    draw();
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener("pointermove", function (e) {
    var cell = cellAt(e);
    describe(cell);
    if (!anchor || !e.buttons) { return; }
    cursor = cell;
    choose(anchor, cursor);
    draw();
  });
  canvas.addEventListener("pointerup", function () { if (anchor) { update(); } });
  canvas.addEventListener("keydown", function (e) {
    var step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[e.key];
    if (e.key === "Escape") { e.stopPropagation(); return whole(); }
    if (!step) { return; }
    e.preventDefault();
    cursor = cursor ? {
      column: Math.max(0, Math.min(grid.columns - 1, cursor.column + step[0])),
      row: Math.max(0, Math.min(grid.rows - 1, cursor.row + step[1]))
    } : { column: 0, row: 0 };
    if (!e.shiftKey || !anchor) { anchor = cursor; }
    choose(anchor, cursor);
    describe(cursor);
    update();
  });
  document.getElementById("whole").addEventListener("click", whole);
  view.addEventListener("change", function () { rows = cursor = anchor = null; update(); });
  apart.addEventListener("change", update);
  window.addEventListener("resize", draw);
  dark.addEventListener("change", draw);
  // One process needs no rows.
  if (groups.process.names.length < 2) { view.querySelector("[value=process]").remove(); }
  page.recall();
})();
