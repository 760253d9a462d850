// What the pages about many requests have on top: keys from page to page, zoom, refresh. It makes no number:
// windows come from the links that the page has anyway, times from its attributes.
"use strict";
(() => {
  const one = (selector, root = document) => root.querySelector(selector);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const main = document.getElementById("main");

  function remembered(name) { try { return sessionStorage.getItem(name); } catch { return null; } }
  function remember(name, value) { try { sessionStorage.setItem(name, value); } catch { /* then it is not */ } }

  // Zoom: a stretch of buckets, each of which is a link to its own window.
  const zoom = { from: -1, to: -1, dragging: false };
  const buckets = () => all(".plot .pick a");

  function showMark() {
    const links = buckets();
    const mark = one(".plot .mark");
    const said = one(".plot .said");
    if (!mark) return;
    const [first, last] = [Math.min(zoom.from, zoom.to), Math.max(zoom.from, zoom.to)];
    if (first < 0 || last >= links.length) {
      mark.setAttribute("width", "0");
      if (said) said.textContent = "";
      return;
    }
    const box = (link) => one("rect", link);
    const begin = Number.parseFloat(box(links[first]).getAttribute("x"));
    const end = Number.parseFloat(box(links[last]).getAttribute("x")) + Number.parseFloat(box(links[last]).getAttribute("width"));
    mark.setAttribute("x", `${begin}%`);
    mark.setAttribute("width", `${end - begin}%`);
    if (said) said.textContent = first === last ? links[first].dataset.label : `${links[first].dataset.label} to ${links[last].dataset.label}`;
  }

  function clearMark() { Object.assign(zoom, { from: -1, to: -1, dragging: false }); showMark(); }

  function goToMark() {
    const links = buckets();
    const [first, last] = [links[Math.min(zoom.from, zoom.to)], links[Math.max(zoom.from, zoom.to)]];
    if (!first || !last) return;
    const url = new URL(first.getAttribute("href"), location.href);
    url.searchParams.set("until", new URL(last.getAttribute("href"), location.href).searchParams.get("until"));
    location.href = url.href;
  }

  const bucketAt = (event) => {
    const links = buckets();
    return links.findIndex((link) => {
      const box = link.getBoundingClientRect();
      return event.clientX >= box.left && event.clientX < box.right;
    });
  };
  let dragged = false;
  document.addEventListener("pointerdown", (event) => {
    dragged = false;
    if (event.button !== 0 || !event.target.closest?.(".plot .pick")) return;
    const at = bucketAt(event);
    if (at >= 0) Object.assign(zoom, { from: at, to: at, dragging: true });
  });
  document.addEventListener("pointermove", (event) => {
    if (!zoom.dragging) return;
    const at = bucketAt(event);
    if (at < 0 || at === zoom.to) return;
    zoom.to = at;
    dragged = true;
    showMark();
  });
  document.addEventListener("pointerup", () => {
    if (!zoom.dragging) return;
    zoom.dragging = false;
    if (dragged && zoom.from !== zoom.to) goToMark();
  });
  document.addEventListener("pointercancel", clearMark);
  document.addEventListener("dragstart", (event) => { if (event.target.closest?.(".plot .pick")) event.preventDefault(); });
  document.addEventListener("click", (event) => {
    if (dragged && event.target.closest?.(".plot .pick")) event.preventDefault();
    dragged = false;
  });

  function moveMark(step, extend) {
    const links = buckets();
    if (!links.length) return false;
    const within = (at) => Math.max(0, Math.min(links.length - 1, at));
    if (zoom.from < 0) zoom.from = zoom.to = step < 0 ? links.length - 1 : 0;
    else if (extend) zoom.to = within(zoom.to + step);
    else zoom.from = zoom.to = within(zoom.to + step);
    showMark();
    return true;
  }

  // Rows that j and k go through.
  function moveRow(step) {
    const rows = all("main [data-row]").filter((row) => row.getClientRects().length);
    if (!rows.length) return false;
    const at = rows.indexOf(document.activeElement);
    const next = rows[at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step];
    if (next) { next.focus({ preventScroll: true }); next.scrollIntoView({ block: "nearest" }); }
    return true;
  }

  function follow(selector) {
    const link = one(selector);
    if (!link) return false;
    if (link instanceof SVGElement) location.href = link.getAttribute("href"); else link.click();
    return true;
  }

  let going = 0;
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    const done = () => { event.preventDefault(); event.stopImmediatePropagation(); };
    const { key } = event;
    if (going && event.timeStamp - going < 1500) {
      going = 0;
      if (/^[a-z]$/.test(key) && follow(`.top nav a[data-go="${key}"]`)) { done(); return; }
    }
    going = 0;
    if (key === "g") { going = event.timeStamp; done(); return; }
    if (key === "p" && pause) { pause.click(); done(); return; }
    const inPlot = document.activeElement?.matches?.(".plot");
    if ((key === "ArrowLeft" || key === "ArrowRight") && (event.shiftKey || inPlot)) {
      if (moveMark(key === "ArrowLeft" ? -1 : 1, event.shiftKey)) {
        if (!inPlot) one(".plot").focus({ preventScroll: true });
        done();
      }
      return;
    }
    if (inPlot && zoom.from >= 0) {
      if (key === "Enter") { goToMark(); done(); return; }
      if (key === "Escape") { clearMark(); done(); return; }
    }
    if (key === "j" || key === "k") { if (moveRow(key === "j" ? 1 : -1)) done(); return; }
    if (/^[a-z]$/.test(key) && follow(`main [data-key="${key}"]`)) done();
  }, true);

  for (const hidden of all(".keys[hidden], .with-script[hidden]")) hidden.hidden = false;
  const plot = one(".plot");
  if (plot) plot.tabIndex = 0;

  // Refresh: the new page's content is laid over the old one, so that what stayed stays itself.
  const live = document.getElementById("live");
  const pause = document.getElementById("pause");
  const every = document.getElementById("every");
  const said = document.getElementById("fresh");
  if (!live || !main || !pause || !every) return;

  const keyOf = (node) => (node.nodeType === Node.ELEMENT_NODE ? node.id || node.getAttribute("data-k") || "" : "");
  const alike = (old, fresh) => old.nodeType === fresh.nodeType && old.nodeName === fresh.nodeName && keyOf(old) === keyOf(fresh);
  const STAYS = new Set(["open", "aria-busy", "tabindex"]);

  function lay(old, fresh) {
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.nodeValue !== fresh.nodeValue) old.nodeValue = fresh.nodeValue;
      return;
    }
    for (const { name, value } of [...fresh.attributes]) {
      if (!STAYS.has(name) && name !== "hidden" && old.getAttribute(name) !== value) old.setAttribute(name, value);
    }
    for (const { name } of [...old.attributes]) {
      if (!STAYS.has(name) && !fresh.hasAttribute(name)) old.removeAttribute(name);
    }
    const known = new Map();
    for (const child of old.childNodes) if (keyOf(child)) known.set(keyOf(child), child);
    let at = old.firstChild;
    for (const wanted of [...fresh.childNodes]) {
      const key = keyOf(wanted);
      const have = key ? known.get(key) : at && alike(at, wanted) ? at : null;
      if (have && have.nodeName === wanted.nodeName) {
        if (have === at) at = at.nextSibling; else old.insertBefore(have, at);
        lay(have, wanted);
      } else {
        old.insertBefore(document.importNode(wanted, true), at);
      }
    }
    while (at) { const next = at.nextSibling; at.remove(); at = next; }
  }

  function swap(fresh) {
    const active = document.activeElement;
    const inside = active && active !== main && main.contains(active);
    // What has the focus may be gone from the new page: then its section waits until the focus is elsewhere.
    const keyed = inside && active.closest("[data-k]");
    if (keyed && !one(`[data-k="${CSS.escape(keyed.dataset.k)}"]`, fresh)) {
      const section = active.closest("section[id]");
      const other = section && one(`#${CSS.escape(section.id)}`, fresh);
      if (other) other.replaceWith(section.cloneNode(true));
    }
    lay(main, fresh);
    if (inside && active.isConnected && document.activeElement !== active) active.focus({ preventScroll: true });
    const mark = one(".plot .mark");
    if (mark && zoom.from >= 0) showMark();
  }

  let timer = 0;
  let paused = remembered("dwindle.paused") === "1";
  let busy = false;
  const at = () => live.dataset.at;

  function say(words) { if (said.textContent !== words) said.textContent = words; }
  function state() {
    pause.setAttribute("aria-pressed", String(paused));
    for (const icon of all("[data-when]", pause)) icon.hidden = (icon.dataset.when === "paused") !== paused;
    say(paused ? `paused since ${at()}` : "");
  }
  function arm() {
    clearTimeout(timer);
    if (!paused) timer = setTimeout(refresh, Number(every.value) * 1000);
  }

  async function refresh() {
    if (busy || paused) return;
    if (document.hidden || zoom.dragging || zoom.from >= 0) { arm(); return; }
    busy = true;
    main.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(location.href, { signal: AbortSignal.timeout(20000) });
      if (!answer.ok) throw new Error(String(answer.status));
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const [fresh, freshLive, label] = ["main", "live", "window"].map((id) => page.getElementById(id));
      if (!fresh || !freshLive) throw new Error("another page");
      if (paused) return;
      swap(fresh);
      live.dataset.at = freshLive.dataset.at;
      if (label) document.getElementById("window").textContent = label.textContent;
      document.title = page.title;
      say("");
    } catch {
      say(`stale since ${at()}`);
    } finally {
      busy = false;
      main.removeAttribute("aria-busy");
      arm();
    }
  }

  const chosen = remembered("dwindle.every");
  if (chosen && all("option", every).some((option) => option.value === chosen)) every.value = chosen;
  live.hidden = false;
  pause.addEventListener("click", () => {
    paused = !paused;
    remember("dwindle.paused", paused ? "1" : "0");
    state();
    if (paused) clearTimeout(timer); else refresh();
  });
  every.addEventListener("change", () => { remember("dwindle.every", every.value); arm(); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden && !paused) refresh(); });
  addEventListener("dwindle:refresh", refresh);
  state();
  arm();
})();
