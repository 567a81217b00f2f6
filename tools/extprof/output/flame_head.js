// SPDX-License-Identifier: BSD-2-Clause
// Lays out what is above the frames for the width of the window: lines are wrapped, buttons come below each other.
"use strict";
var extprofHead = (function () {
  var NS = "http://www.w3.org/2000/svg", PAD = 10, LINE = 16, LINES_MAX = 4, GAP = 14, CONTROL = 24;
  var head = document.getElementById("head"), title = document.getElementById("title");
  var matched = document.getElementById("matched"), command = title.textContent;
  var lines = Array.from(head.querySelectorAll(".meta")), texts = lines.map(function (line) {
    var whole = line.querySelector("title");
    return (whole || line).textContent;
  });
  var pen = document.createElementNS("http://www.w3.org/1999/xhtml", "canvas").getContext("2d");

  function letters(text) {
    if (!window.Intl || !Intl.Segmenter) { return Array.from(text); }
    return Array.from(new Intl.Segmenter().segment(text), function (s) { return s.segment; });
  }
  function wrap(text, room) {
    var rows = [""];
    text.split(" ").forEach(function (word) {
      var row = rows[rows.length - 1], longer = row ? row + " " + word : word;
      if (!row || pen.measureText(longer).width <= room) { rows[rows.length - 1] = longer; } else { rows.push(word); }
    });
    if (rows.length > LINES_MAX) {
      rows.length = LINES_MAX;
      rows[LINES_MAX - 1] += " \u2026";
    }
    return rows;
  }
  function write(line, text, width, y) {
    var rows = wrap(text, width - 2 * PAD), k, span;
    line.replaceChildren();
    for (k = 0; k < rows.length; k++) {
      span = document.createElementNS(NS, "tspan");
      span.setAttribute("x", PAD);
      span.setAttribute("y", y + k * LINE);
      // A word alone can be wider than the window.
      span.textContent = clip(rows[k], width - 2 * PAD);
      line.appendChild(span);
    }
    if (rows.length === LINES_MAX) {
      span = document.createElementNS(NS, "title");
      span.textContent = text;
      line.appendChild(span);
    }
    return rows.length * LINE;
  }
  function clip(text, room) {
    var all, k;
    if (pen.measureText(text).width <= room) { return text; }
    all = letters(text);
    k = all.length;
    while (k > 1 && pen.measureText(all.slice(0, k).join("") + "\u2026").width > room) { k -= 1 + (k >> 4); }
    return all.slice(0, Math.max(k, 1)).join("") + "\u2026";
  }
  // One after the other, in as many rows as it takes.  Where the last row ends.
  function flow(items, width, y, high) {
    var x = PAD;
    items.forEach(function (item) {
      var size = item.getBBox().width;
      if (x > PAD && x + size > width - PAD) { x = PAD; y += high; }
      item.setAttribute("transform", "translate(" + x + "," + y + ")");
      x += size + GAP;
    });
    return y + high;
  }
  function seen(selector) {
    return Array.from(head.querySelectorAll(selector)).filter(function (e) { return !e.classList.contains("gone"); });
  }
  // What was found is whole; the command has the room that is left.
  function fit(width, y) {
    var found = matched.textContent ? matched.getComputedTextLength() : 0, room = width - 3 * PAD - found;
    var below = found > 0 && room < 160;
    matched.setAttribute("x", below ? PAD : width - PAD);
    matched.setAttribute("y", below ? y : 24);
    matched.setAttribute("text-anchor", below ? "start" : "end");
    pen.font = getComputedStyle(title).font;
    title.textContent = clip(command, below ? width - 2 * PAD : room);
    return below ? y + LINE : y;
  }

  // How high it is.
  function layOut(width) {
    var y = fit(width, 42);
    pen.font = getComputedStyle(lines[0] || title).font;
    lines.forEach(function (line, k) { y += write(line, texts[k], width, y); });
    y = flow(seen(".entry, .control"), width, y + 6, CONTROL) - 12;
    head.querySelector(".page").setAttribute("height", y - 2);
    return y;
  }
  return { layOut: layOut, letters: letters };
})();
