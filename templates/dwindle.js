// Comfort on top of pages that work without it. It moves focus and opens rows; it makes no number.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const rows = all(".hop > summary");
  const links = all(".req .when a");
  const stops = rows.length ? rows : links;
  const find = document.getElementById("find");
  const go = document.getElementById("filter") || document.getElementById("q");

  for (const hidden of all("footer.keys[hidden], #find[hidden]")) hidden.hidden = false;

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
    // The sticky head may cover what was scrolled to just under the top.
    const head = document.querySelector(".wf-head");
    const covered = head ? head.getBoundingClientRect().bottom - stops[index].getBoundingClientRect().top : 0;
    if (covered > 0) scrollBy(0, -covered);
  }

  stops.forEach((stop, index) => stop.addEventListener("focus", () => select(index, false)));

  function jump(selector) {
    const found = document.querySelector(selector);
    if (!found) return;
    const summary = found.closest("summary");
    select(rows.indexOf(summary));
  }

  // Find: rows that do not match fade; Enter goes on to the next that does.
  function matches() {
    const wanted = find.value.trim().toLowerCase();
    return rows.map((row) => !wanted || row.parentElement.textContent.toLowerCase().includes(wanted));
  }
  if (find) {
    find.addEventListener("input", () => {
      const found = matches();
      rows.forEach((row, i) => row.parentElement.classList.toggle("dim", !found[i]));
    });
    find.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { find.value = ""; find.dispatchEvent(new Event("input")); find.blur(); }
      if (event.key !== "Enter") return;
      event.preventDefault();
      const found = matches();
      for (let step = 1; step <= rows.length; step++) {
        const index = (current + step) % rows.length;
        if (found[index]) { select(index, false); rows[index].scrollIntoView({ block: "center" }); return; }
      }
    });
  }

  async function copyJson() {
    const link = document.getElementById("json");
    if (!link || !navigator.clipboard) return;
    const words = link.textContent;
    try {
      const answer = await fetch(link.href);
      if (!answer.ok) throw new Error(String(answer.status));
      await navigator.clipboard.writeText(await answer.text());
      link.textContent = "JSON copied";
    } catch {
      link.textContent = "could not copy the JSON";
    }
    link.setAttribute("aria-live", "polite");
    setTimeout(() => { link.textContent = words; }, 2000);
  }

  function follow(selector) {
    const link = document.querySelector(selector);
    if (link) link.click();
  }

  const keys = {
    j: () => select(current + 1),
    k: () => select(current < 0 ? 0 : current - 1),
    ArrowDown: () => select(current + 1),
    ArrowUp: () => select(current < 0 ? 0 : current - 1),
    ArrowRight: () => { if (rows[current]) rows[current].parentElement.open = true; },
    ArrowLeft: () => { if (rows[current]) rows[current].parentElement.open = false; },
    c: () => jump(".hop.cul > summary .c-name"),
    s: () => jump(".hop > summary .flg"),
    n: () => follow("a.btn[rel=next]"),
    "[": () => follow(".crumb a[rel=prev]"),
    "]": () => follow(".crumb a[rel=next]"),
    "/": () => (find && rows.length ? find : go)?.focus(),
    "?": () => { location.href = "/help#keys"; },
    y: copyJson,
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

  // A link to a row opens it.
  function openTarget() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (target && target.matches("details.hop")) { target.open = true; select(rows.indexOf(target.querySelector("summary"))); }
  }
  addEventListener("hashchange", openTarget);
  openTarget();
})();
