// The page with the timeline: how much of each state there was at each time, by process.  A span that is selected there is
// shown as a flame graph, in a frame of its own that can do nothing else.
(function () {
  // Kinds of cells as the requests have them: a colour for light and dark, and the states.
  var STATES = [
    ["run", "#2e7d32", "#66bb6a", ["running"]], ["gc", "#c62828", "#ef5350", ["gc"]], ["runnable", "#ef6c00", "#ffa726", ["runnable"]],
    ["gvl", "#f2b200", "#ffd54f", ["gvl"]], ["io", "#1565c0", "#64b5f6", ["io"]],
    ["lock", "#7b1fa2", "#ba68c8", ["mutex", "queue", "condvar", "join", "ractor"]],
    ["other", "#795548", "#a1887f", ["process", "native", "fault", "stopped"]], ["parked", "#00838f", "#4dd0e1", ["parked"]],
    ["sleep", "#90a4ae", "#78909c", ["sleep"]], ["idle", "#cfd8dc", "#546e7a", ["idle"]]
  ];
  var AROUND = 10000000000n, GAP = 16, AXIS = 20, FONT = '11px system-ui, "DejaVu Sans", sans-serif';
  var t = whole(), dark = window.matchMedia("(prefers-color-scheme: dark)"), hidden = { idle: true }, swatches = [];
  // In columns, both included; null: nothing is selected.
  var chosen = null, anchor = null, drags = false, timer = null;
  var other = D.with_since !== "0" ? [BigInt(D.with_since), BigInt(D.with_until)] : null;
  var canvas, pen, chosenText, links, frame, zoomButton, everyRow;

  // The flame graph is below: rows of more processes are one, unless they are asked for.
  var FEW = 12, few = t && t.processes.length > FEW + 1 ? t.processes.slice(0, FEW).concat(together(t.processes.slice(FEW))) : null;
  var each = !few;

  // With what lasts in the span and ends behind it: it is drawn, and is in no sum.
  function whole() {
    var of = D.timeline, rest = D.rest, names = {};
    if (!of && !rest) { return null; }
    if (!of) {
      of = rest;
      rest = null;
      of.processes.forEach(function (p) { p.sums = {}; });
    }
    of.processes.forEach(function (p) { names[" " + p.name] = p; });
    (rest && rest.columns === of.columns && rest.wall === of.wall && rest.from === of.from ? rest.processes : []).forEach(function (p) {
      var to = names[" " + p.name];
      function lasts(name) { return p.cells[name].some(Boolean); }
      if (!Object.keys(p.cells).some(lasts)) { return; }
      if (!to) {
        to = { name: p.name, sums: {}, cells: {} };
        of.processes.push(to);
      }
      addCells(to, p);
    });
    // Those with most time come first; what others share, and what only rests, is the end.
    of.processes.sort(function (a, b) { return busy(b) - busy(a); });
    return of;
  }
  function busy(process) {
    if (!process.name || process.name === "other processes") { return process.name ? -1 : -2; }
    return Object.keys(process.sums).reduce(function (sum, key) { return key === "idle" ? sum : sum + process.sums[key]; }, 0);
  }
  function together(list) {
    var all = { name: "others", sums: {}, cells: {} };
    list.forEach(function (p) { addCells(all, p); });
    return all;
  }
  function addCells(to, p) {
    Object.keys(p.cells).forEach(function (key) {
      to.cells[key] = to.cells[key] ? to.cells[key].map(function (a, i) { return a + p.cells[key][i]; }) : p.cells[key];
    });
  }
  function column(c) { return BigInt(t.wall) + BigInt(t.from) + BigInt(c) * BigInt(t.width); }
  // What the pages are asked for: the selection, or what the page shows.
  function span() {
    if (!chosen) { return [D.since, D.until]; }
    // The last column has the last moment, too.
    return [String(column(chosen[0])), String(chosen[1] === t.columns - 1 ? BigInt(t.wall) + BigInt(t.until) : column(chosen[1] + 1) - 1n)];
  }
  function pairs(s, more) { return [["since", s[0]], ["until", s[1]], ["mode", D.mode]].concat(more || []); }
  // As the server wants it of a comparison: with a begin and an end.
  function wholeSpan() {
    var s = span();
    return [s[0] === "0" ? D.begin : s[0], s[1] === "0" ? D.end : s[1]];
  }
  function otherPairs() { return other ? [["with-since", String(other[0])], ["with-until", String(other[1])]] : []; }

  // -- the head ------------------------------------------------------------------------------------------

  function stateSums() {
    return STATES.map(function (s) {
      return t.processes.reduce(function (sum, p) {
        return s[3].reduce(function (all, key) { return all + (p.sums[key] || 0); }, sum);
      }, 0);
    });
  }
  function head() {
    var hosts = {}, bar, select, part = D.since !== "0" || D.until !== "0", shown;
    var unreadable = D.files.filter(function (f) { return f.unreadable; }).length;
    D.files.forEach(function (f) { if (f.about && f.about.host) { hosts[f.about.host] = true; } });
    add(page, "h1", "Recordings of " + (Object.keys(hosts).sort().slice(0, 5).join(", ") || (D.files_of_time ? "unknown machines" : "no machine")));
    shown = [D.since !== "0" ? D.since : D.begin, D.until !== "0" ? D.until : D.end];
    if (D.end !== "0") {
      add(page, "div", times(shown) + ", " + D.files_of_time + " of " + D.all_files + " recordings" +
        (unreadable ? "; " + unreadable + " of them cannot be read, see below" : ""), { "class": "soft", id: "shown" });
    }
    bar = add(page, "div", null, { "class": "bar" });
    select = add(add(bar, "label", "mode "), "select", null, { id: "mode" });
    D.modes.forEach(function (m) { add(select, "option", m).selected = m === D.mode; });
    select.addEventListener("change", function () { go([D.since, D.until], select.value); });
    zoomButton = button(bar, "zoom to the selection", zoom, { id: "zoom" });
    if (few) {
      everyRow = button(bar, "each process", function () {
        each = !each;
        everyRow.setAttribute("aria-pressed", String(each));
        draw();
      }, { id: "each", "aria-pressed": "false" });
    }
    if (part) {
      button(bar, "zoom out", zoomOut, { id: "out" });
      button(bar, "whole time", function () { go(["0", "0"], D.mode); }, { id: "whole" });
    }
  }
  function go(s, mode) {
    location.assign(address("", [["since", s[0]], ["until", s[1]], ["mode", mode]].concat(otherPairs())));
  }
  function zoom() { if (chosen) { go(span(), D.mode); } }
  // Twice as much time around the same middle, within that of the recordings.
  function zoomOut() {
    var s = wholeSpan().map(BigInt), half = (s[1] - s[0]) / 2n + 1n, a = s[0] - half, b = s[1] + half;
    a = a < BigInt(D.begin) ? 0n : a;
    b = b > BigInt(D.end) ? 0n : b;
    go([String(a), String(b)], D.mode);
  }

  // -- states --------------------------------------------------------------------------------------------

  function legend() {
    var sums = stateSums(), bar = add(page, "div", null, { "class": "bar", role: "group", "aria-label": "states", id: "states" });
    STATES.forEach(function (s, i) {
      var b, swatch;
      if (!sums[i] && !t.processes.some(function (p) { return s[3].some(function (key) { return p.cells[key]; }); })) { return; }
      b = button(bar, null, function () {
        hidden[s[0]] = !hidden[s[0]];
        b.setAttribute("aria-pressed", String(!hidden[s[0]]));
        draw();
      }, { "aria-pressed": String(!hidden[s[0]]), "data-state": s[0], "data-amount": sums[i] });
      swatch = add(b, "span", null, { "class": "swatch" });
      swatches.push([swatch, s]);
      b.appendChild(document.createTextNode(s[0] + " " + amount(sums[i], t.unit)));
    });
  }

  // -- the timeline --------------------------------------------------------------------------------------

  function of(process, s, c) {
    return s[3].reduce(function (sum, key) { return sum + (process.cells[key] ? process.cells[key][c] : 0); }, 0);
  }
  function most(process) {
    var c, top = 0, sum;
    function addTo(all, s) { return hidden[s[0]] ? all : all + of(process, s, c); }
    for (c = 0; c < t.columns; c++) {
      sum = STATES.reduce(addTo, 0);
      top = Math.max(top, sum);
    }
    return top;
  }
  // Threads that only rest need no room while that is hidden.
  function rows() {
    var shown = (each ? t.processes : few).filter(function (p) { return p.name || most(p); });
    return shown.length ? shown : t.processes;
  }
  function draw() {
    var processes = rows(), ROW = Math.max(46, Math.min(150, Math.floor(300 / processes.length)));
    var ratio = window.devicePixelRatio || 1, width = canvas.clientWidth || 1180, high = processes.length * (ROW + GAP) + AXIS;
    var w = width / t.columns, total = 0;
    swatches.forEach(function (x) { x[0].style.background = x[1][dark.matches ? 2 : 1]; });
    canvas.style.height = high + "px";
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(high * ratio);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.font = FONT;
    pen.textBaseline = "middle";
    processes.forEach(function (p, i) {
      var y = i * (ROW + GAP) + GAP, top = most(p), c, at, part;
      pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--empty");
      pen.fillRect(0, y, width, ROW);
      for (c = 0; c < t.columns; c++) {
        at = y + ROW;
        STATES.forEach(function (s) {
          part = of(p, s, c);
          total += part;
          if (hidden[s[0]] || !part) { return; }
          part = part / top * ROW;
          at -= part;
          pen.fillStyle = s[dark.matches ? 2 : 1];
          pen.fillRect(c * w, at, w + 0.3, part);
        });
      }
      pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--text");
      pen.fillText((p.name || "threads that only rest") + "   " + (t.unit === "ns" ? (top / t.width).toFixed(top / t.width < 10 ? 1 : 0) +
        " threads at most" : amount(top, t.unit) + " at most"), 0, y - GAP / 2);
    });
    pen.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--text");
    axis(width, high - AXIS / 2);
    D.triggers.forEach(function (f) {
      var at = Number(BigInt(f.at) - column(0)) / t.width;
      if (at >= 0 && at < t.columns) { pen.fillText("\u25bc", Math.min(at * w, width - 9) - 4, high - AXIS - 4); }
    });
    if (chosen) {
      pen.fillStyle = dark.matches ? "rgba(138,180,248,0.35)" : "rgba(11,87,208,0.28)";
      pen.fillRect(chosen[0] * w, 0, (chosen[1] - chosen[0] + 1) * w, high - AXIS);
    }
    canvas.setAttribute("data-columns", t.columns);
    canvas.setAttribute("data-rows", processes.length);
    canvas.setAttribute("data-first", processes[0].name);
    canvas.setAttribute("data-sum", total);
  }
  function axis(width, y) {
    var count = Math.max(1, Math.floor(width / 130)), i, c, exact = t.width * t.columns < 3e10;
    for (i = 0; i < count; i++) {
      c = Math.floor(t.columns * i / count);
      pen.fillText(clock(column(c), exact), c * width / t.columns, y);
    }
  }

  // -- what is selected ----------------------------------------------------------------------------------

  function choose(a, b) { chosen = [Math.min(a, b), Math.max(a, b)]; }
  // `now`: the frame follows at once; else when no key follows.
  function update(now) {
    var s = span(), whole = wholeSpan(), shown = chosen ? s : whole;
    draw();
    chosenText.textContent = (chosen ? "selected: " : "all of it: ") + clock(shown[0], true) + " to " + clock(shown[1], true) + " (" +
      duration(BigInt(shown[1]) - BigInt(shown[0]) + (chosen ? 1n : 0n)) + ")";
    chosenText.setAttribute("data-since", s[0]);
    chosenText.setAttribute("data-until", s[1]);
    zoomButton.disabled = !chosen;
    showLinks(s, whole);
    history.replaceState(null, "", address("", pairs([D.since, D.until]).concat(otherPairs())) + (chosen ? "#" + s.join("-") : ""));
    clearTimeout(timer);
    timer = setTimeout(function () { show(address("flamegraph", pairs(s))); }, now ? 0 : 400);
  }
  // Its own address: a load that is over leaves nothing to go back to.
  function show(href) {
    if (frame.getAttribute("data-shows") === href) { return; }
    frame.setAttribute("data-shows", href);
    frame.contentWindow.location.replace(new URL(href, location.href).href);
  }
  function showLinks(s, whole) {
    var save;
    links.textContent = "";
    link(links, "flame graph", address("flamegraph", pairs(s)));
    link(links, "heat map", address("heatmap", pairs(s)));
    if (D.labels.length) { link(links, "requests", address("requests", [["since", s[0]], ["until", s[1]]])); }
    save = add(links, "span", "save for ");
    D.saved.forEach(function (f, i) {
      if (i) { save.appendChild(document.createTextNode(", ")); }
      link(save, f.format === "firefox" || f.format === "speedscope" ? f.opens : f.format,
        address("save", pairs(s, [["format", f.format]])));
    });
    button(links, "keep this time to compare", function () { other = whole.map(BigInt); update(true); }, { "class": "link", id: "keep" });
    if (other && (other[1] < BigInt(whole[0]) || other[0] > BigInt(whole[1]))) {
      link(links, "compare with " + (day(other[0]) !== day(whole[0]) ? day(other[0]) + " " : "") + clock(other[0]) + " (" +
        duration(other[1] - other[0]) + ")", address("diff", pairs(whole).concat(otherPairs()))).id = "compare";
    } else if (other) {
      add(links, "span", "kept: " + clock(other[0]) + " (" + duration(other[1] - other[0]) + "); select another time", { "class": "soft" });
    }
  }
  function columnAt(e) {
    var box = canvas.getBoundingClientRect();
    return Math.max(0, Math.min(t.columns - 1, Math.floor((e.clientX - box.left) / box.width * t.columns)));
  }
  function keys(e) {
    var step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -Math.ceil(t.columns / 20), PageDown: Math.ceil(t.columns / 20) }[e.key], to;
    if (e.key === "Escape") { chosen = anchor = null; return update(true); }
    if (e.key === "Enter") { return zoom(); }
    if (e.key === "Home" || e.key === "End") { step = e.key === "Home" ? -t.columns : t.columns; }
    if (!step) { return; }
    e.preventDefault();
    if (anchor === null) {
      to = e.key === "End" || (step < 0 && e.key !== "Home") ? t.columns - 1 : 0;
      anchor = [to, to];
    } else { to = Math.max(0, Math.min(t.columns - 1, anchor[1] + step)); }
    anchor = e.shiftKey ? [anchor[0], to] : [to, to];
    choose(anchor[0], anchor[1]);
    update(false);
  }
  function hands() {
    canvas.addEventListener("pointerdown", function (e) {
      drags = true;
      anchor = [columnAt(e), columnAt(e)];
      choose(anchor[0], anchor[1]);
      canvas.setPointerCapture(e.pointerId);
      draw();
    });
    canvas.addEventListener("pointermove", function (e) {
      if (!drags) { return; }
      anchor[1] = columnAt(e);
      choose(anchor[0], anchor[1]);
      draw();
    });
    canvas.addEventListener("pointerup", function () { if (drags) { drags = false; update(true); } });
    canvas.addEventListener("pointercancel", function () { drags = false; });
    canvas.addEventListener("dblclick", zoom);
    canvas.addEventListener("keydown", keys);
    window.addEventListener("resize", draw);
    dark.addEventListener("change", draw);
  }
  // The selection that the link of the page has.
  function recall() {
    var m = /^#(\d+)-(\d+)$/.exec(location.hash), a, b;
    if (!m) { return; }
    a = Number((BigInt(m[1]) - column(0)) / BigInt(t.width));
    b = Number((BigInt(m[2]) - column(0)) / BigInt(t.width));
    if (a >= 0 && a <= b && b < t.columns) { anchor = [a, b]; chosen = [a, b]; }
  }

  // -- triggers that fired -------------------------------------------------------------------------------

  // A link leads to the seconds around it.
  function triggers() {
    var table;
    if (!D.triggers.length) { return; }
    add(page, "h2", "Triggers" + (D.triggers.length === D.triggers_shown ? " (the newest " + D.triggers_shown + ")" : ""));
    table = add(add(page, "div", null, { "class": "table" }), "table", null, { id: "triggers" });
    cells(add(table, "tr"), [["at", 0, "th"], ["what fired", 0, "th"]]);
    D.triggers.forEach(function (f) {
      var row = add(table, "tr"), at = BigInt(f.at);
      link(add(row, "td"), day(f.at) + " " + clock(f.at, true), address("", [["since", String(at - AROUND)], ["until", String(at + AROUND)],
        ["mode", D.mode]].concat(otherPairs())));
      cells(row, [[f.text, 0]]);
    });
  }

  // -- the recordings ------------------------------------------------------------------------------------

  function recordings() {
    var table, row;
    add(page, "h2", "Recordings" + (D.files_of_time > D.files.length ? " (the newest " + D.files.length + " of " + D.files_of_time + ")" : ""));
    table = add(add(page, "div", null, { "class": "table" }), "table", null, { id: "files" });
    cells(add(table, "tr"), [["begin", 0, "th"], ["length", 1, "th"], ["host", 0, "th"], ["processes", 1, "th"], ["samples", 1, "th"],
      ["lost", 1, "th"], ["file", 0, "th"], ["command", 0, "th"]]);
    D.files.forEach(function (f) {
      f.about = f.about || {};
      row = add(table, "tr");
      if (f.unreadable) {
        cells(row, [["", 0], ["", 1], ["", 0], ["", 1], ["", 1], ["", 1], [f.name, 0], [f.unreadable, 0]]);
        return;
      }
      link(add(row, "td"), day(f.begin) + " " + clock(f.begin), address("", [["since", f.begin], ["until", f.end], ["mode", D.mode]].concat(otherPairs())));
      cells(row, [[duration(BigInt(f.end) - BigInt(f.begin)), 1], [f.about.host || "", 0], [f.about.processes, 1], [f.about.samples, 1],
        [f.about.lost, 1], [f.name + (f.incomplete ? " (has not ended)" : ""), 0], [f.about.command || "", 0]]);
    });
  }

  // Why there is no timeline.
  function nothing() {
    if (!D.all_files) { return "There is no recording here yet."; }
    return D.error + (D.end === "0" || D.files.some(function (f) { return !f.unreadable; }) ? "" : ": they are of " + times([D.begin, D.end]));
  }

  head();
  if (t) {
    legend();
    canvas = add(page, "canvas", null, { tabindex: "0", role: "img", id: "cells", "aria-label": "Time from left to right, by process and " +
      "state. Drag selects a span. Arrow keys select a time, with shift a span; Enter zooms, Escape selects all of it." });
    pen = canvas.getContext("2d");
    add(page, "div", "drag, or use the arrow keys, to select a time; Enter or a double click zooms", { "class": "soft" });
    chosenText = add(add(page, "div", null, { "class": "bar" }), "span", null, { role: "status", id: "chosen" });
    links = add(page, "div", null, { "class": "bar", id: "links" });
    frame = add(page, "iframe", null, { title: "flame graph of the time", sandbox: "allow-scripts" });
    hands();
    recall();
    update(true);
    // A rest can be drawn though the time itself has too much for a page.
    if (D.error) { add(page, "p", D.error, { "class": "error", id: "error" }); }
  } else {
    zoomButton.disabled = true;
    add(page, "p", nothing(), { "class": "error", id: "error" });
  }
  triggers();
  recordings();
})();
