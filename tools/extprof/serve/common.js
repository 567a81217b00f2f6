// SPDX-License-Identifier: BSD-2-Clause
// What the pages share.  No markup is ever made from text: names only go into text nodes, and into addresses, encoded.
var D = JSON.parse(document.getElementById("data").textContent), page = document.getElementById("page");

function add(to, tag, text, attributes) {
  var e = document.createElement(tag), key;
  if (text !== undefined && text !== null) { e.textContent = text; }
  for (key in attributes || {}) { e.setAttribute(key, attributes[key]); }
  to.appendChild(e);
  return e;
}
function link(to, text, href) { return add(to, "a", text, { href: href }); }
// A button that does something; links go somewhere.
function button(to, text, act, attributes) {
  var b = add(to, "button", text, attributes);
  b.type = "button";
  b.addEventListener("click", act);
  return b;
}
// An address of a page here: pairs without a value are left out.
function address(name, pairs) {
  var query = pairs.filter(function (p) { return p[1] && p[1] !== "0"; }).map(function (p) {
    return p[0] + "=" + encodeURIComponent(p[1]);
  }).join("&");
  return (name || "./") + (query ? "?" + query : "");
}
function duration(ns) {
  var n = Number(ns);
  if (n < 1e6) { return (n / 1e3).toFixed(1) + " us"; }
  if (n < 1e9) { return (n / 1e6).toFixed(n < 1e7 ? 2 : 1) + " ms"; }
  return n < 3.6e12 ? (n / 1e9).toFixed(n < 1e11 ? 2 : 0) + " s" : (n / 3.6e12).toFixed(1) + " h";
}
function amount(n, unit) {
  if (unit === "ns") { return duration(n); }
  if (unit === "count") { return n.toLocaleString("en"); }
  return n < 1024 ? n + " B" : n < 1048576 ? (n / 1024).toFixed(1) + " KiB" : (n / 1048576).toFixed(1) + " MiB";
}
function two(n) { return (n < 10 ? "0" : "") + n; }
// ns since 1970 as text or BigInt, in the time zone of who looks.
function clock(ns, exact) {
  var d = new Date(Number(BigInt(ns) / 1000000n));
  return two(d.getHours()) + ":" + two(d.getMinutes()) + ":" + two(d.getSeconds()) + (exact ? "." + ("00" + d.getMilliseconds()).slice(-3) : "");
}
function day(ns) {
  var d = new Date(Number(BigInt(ns) / 1000000n));
  return d.getFullYear() + "-" + two(d.getMonth() + 1) + "-" + two(d.getDate());
}
// From when to when, both as texts.
function times(s) {
  return day(s[0]) + " " + clock(s[0]) + " to " + (day(s[1]) !== day(s[0]) ? day(s[1]) + " " : "") + clock(s[1]) + " (" +
    duration(BigInt(s[1]) - BigInt(s[0])) + ")";
}
function cells(row, list) {
  list.forEach(function (c) { add(row, c[2] || "td", c[0], c[1] ? { "class": "n" } : {}); });
}
