// The page with requests: how long they took by the value of a label, and the longest ones.  Each row has its flame graph.
(function () {
  var PARTS = ["run", "gc", "runnable", "gvl", "io", "lock", "sleep", "parked", "other"];

  // As a condition that this alone fulfils.  null: it is longer than the server takes.
  function condition(key, text) {
    var all = key + "=" + text.replace(/[\\*?\[]/g, "\\$&");
    return new TextEncoder().encode(all).length < 256 ? ["filter", all] : null;
  }
  function ms(ns) { return (ns / 1e6).toFixed(1); }
  function graph(to, text, since, until, more) {
    link(to, text, address("flamegraph", [["since", since], ["until", until]].concat(more)));
  }
  function partCells(row, parts) { cells(row, PARTS.map(function (p) { return [ms(parts[p]), 1]; })); }
  function heads(table, first, last) {
    cells(add(table, "tr"), first.concat(PARTS).map(function (h) { return [h, 1, "th"]; }).concat(last.map(function (h) { return [h, 0, "th"]; })));
  }

  function byLabel() {
    var table, row, of;
    add(page, "h2", "By " + D.key + ", times in ms");
    add(page, "div", D.by.count + " requests" + (D.by.cut ? "; of " + D.by.cut + " the begin or the end is not in these recordings" : "") +
      (D.by.left_out ? "; " + D.by.left_out + " found no room" : ""), { "class": "soft" });
    table = add(add(page, "div", null, { "class": "table" }), "table", null, { id: "by" });
    heads(table, ["requests", "p50", "p95", "p99", "max", "mean"], [D.key, "flame graphs"]);
    D.by.values.forEach(function (v) {
      row = add(table, "tr");
      of = [["by", D.key], condition("label:" + D.key, v.value)];
      cells(row, [[v.count, 1], [ms(v.seen.p50), 1], [ms(v.seen.p95), 1], [ms(v.seen.p99), 1], [ms(v.seen.max), 1], [ms(v.all.mean), 1]]);
      partCells(row, v.all.parts);
      cells(row, [[v.value, 0]]);
      var links = add(row, "td");
      if (of[1]) {
        graph(links, "all", D.since, D.until, of);
        links.appendChild(document.createTextNode(", "));
        graph(links, "slowest 10", D.since, D.until, of.concat([["slowest", "10"]]));
      }
      if (!v.slow || !v.slow.count) { return; }
      row = add(table, "tr", null, { "class": "more" });
      cells(row, [[v.slow.count, 1], ["from p95 on", 0], ["", 1], ["", 1], ["", 1], [ms(v.slow.mean), 1]]);
      partCells(row, v.slow.parts);
    });
  }
  function slowest() {
    var table, row, begin, links;
    add(page, "h2", "The longest requests, times in ms");
    table = add(add(page, "div", null, { "class": "table" }), "table", null, { id: "slowest" });
    heads(table, ["begin", "duration", "+ up to"], ["pid", "thread", "labels", ""]);
    D.slowest.requests.forEach(function (r) {
      begin = BigInt(D.begin) + BigInt(Math.round(r.begin_s * 1e9));
      row = add(table, "tr");
      cells(row, [[clock(begin, true), 1], [ms(r.duration), 1], [(r.whole ? "" : "? ") + ms(r.before + r.after), 1]]);
      partCells(row, r.parts);
      cells(row, [[r.pid, 0], [r.thread, 0], [Object.keys(r.labels).map(function (k) { return k + "=" + r.labels[k]; }).join(", "), 0]]);
      links = add(row, "td");
      // A begin is rounded to what a number has room for.
      graph(links, "flame graph", String(begin - 1000n), String(begin + BigInt(r.duration) + 1000n),
        [["by", D.key], ["filter", "process=" + r.pid], condition("thread", r.thread)].concat(Object.keys(r.labels).slice(0, 6).map(function (k) {
          return condition("label:" + k, r.labels[k]);
        })).filter(Boolean));
    });
  }

  var bar, select, shown;
  add(page, "h1", "Requests");
  bar = add(page, "div", null, { "class": "bar" });
  link(bar, "timeline", address("", [["since", D.since], ["until", D.until]]));
  shown = [D.since !== "0" ? D.since : D.begin, D.until !== "0" ? D.until : D.end];
  if (shown[1] !== "0") { add(bar, "span", times(shown), { "class": "soft", id: "shown" }); }
  if (!D.by) {
    add(page, "p", "No sample of this time has a label: Fiber.with_labels sets them.", { "class": "error", id: "error" });
    return;
  }
  select = add(add(bar, "label", "label "), "select", null, { id: "label" });
  D.labels.forEach(function (l) { add(select, "option", l).selected = l === D.key; });
  select.addEventListener("change", function () {
    location.assign(address("requests", [["since", D.since], ["until", D.until], ["by", select.value]]));
  });
  byLabel();
  slowest();
})();
