// Comfort on top of pages that work without it. It moves the focus; it makes no number.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const stops = all(".req .when a");
  const go = document.getElementById("filter") || document.getElementById("q");

  for (const hidden of all("footer.keys[hidden]")) hidden.hidden = false;

  const marked = (stop) => stop.closest("tr") || stop;
  let current = -1;

  function select(index, focus = true) {
    if (index < 0 || index >= stops.length) return;
    if (current >= 0) marked(stops[current]).classList.remove("cur");
    current = index;
    marked(stops[index]).classList.add("cur");
    if (!focus) return;
    stops[index].focus({ preventScroll: true });
    stops[index].scrollIntoView({ block: "nearest" });
  }

  stops.forEach((stop, index) => stop.addEventListener("focus", () => select(index, false)));

  function follow(selector) {
    const link = document.querySelector(selector);
    if (link) link.click();
  }

  const keys = {
    j: () => select(current + 1),
    k: () => select(current < 0 ? 0 : current - 1),
    ArrowDown: () => select(current + 1),
    ArrowUp: () => select(current < 0 ? 0 : current - 1),
    n: () => follow("a.btn[rel=next]"),
    "/": () => go?.focus(),
    "?": () => { location.href = "/help#keys"; },
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const arrow = event.key.startsWith("Arrow");
    // Arrows scroll the page until a row was chosen.
    if (!Object.hasOwn(keys, event.key) || (arrow && (current < 0 || !stops.includes(document.activeElement)))) return;
    event.preventDefault();
    keys[event.key]();
  });
})();
