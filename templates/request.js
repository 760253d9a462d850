// Comfort for the request's page, which works without it: every step is an address that the server
// answers. This fetches the answer's part instead of a whole page, keeps few rows of a large
// request in the page, and makes no number that is shown.
"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const parse = (html) => new DOMParser().parseFromString(`<ol>${html}</ol>`, "text/html").body;

  /** This page's address with other parameters; null removes one. */
  function address(changes) {
    const url = new URL(location.href);
    url.hash = "";
    for (const [name, value] of Object.entries(changes)) {
      if (value === null) url.searchParams.delete(name);
      else url.searchParams.set(name, value);
    }
    return url;
  }

  async function text(url) {
    const answer = await fetch(url, { headers: { accept: "text/html" } });
    if (!answer.ok) throw new Error(String(answer.status));
    return answer.text();
  }

  // ---- copying

  async function copy(kind) {
    const link = byId(kind);
    const button = document.querySelector(`button[data-copy="${kind}"]`);
    if (!link || !button) return;
    const words = button.dataset.words || button.textContent;
    button.dataset.words = words;
    button.setAttribute("aria-live", "polite");
    try {
      const answer = await fetch(link.href);
      if (!answer.ok) throw new Error(String(answer.status));
      await toClipboard(await answer.text());
      button.textContent = "copied";
    } catch {
      button.textContent = "could not copy";
    }
    setTimeout(() => { button.textContent = words; }, 2000);
  }

  async function toClipboard(value) {
    if (navigator.clipboard) return navigator.clipboard.writeText(value);
    // Over plain HTTP there is none.
    const field = document.createElement("textarea");
    field.value = value;
    field.readOnly = true;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    if (!done) throw new Error("refused");
  }

  for (const hidden of all(".copy[hidden]")) hidden.hidden = false;
  for (const button of all("button[data-copy]")) button.addEventListener("click", () => copy(button.dataset.copy));
  if (!byId("wf")) return;

  // ---- the lines: all of a small request; of a large one three screens, the rest are gaps

  const CHUNK = 100;   // lines in one question
  const CACHED = 1500; // lines kept beside the page

  class Lines {
    constructor(list) {
      this.list = list;
      this.first = Number(list.dataset.first);
      this.total = Number(list.dataset.lines);
      this.items = new Map();
      this.asked = new Map();
      this.odd = new Map(); // lines that are higher or lower than the others, by so much
      this.open = new Set();
      [...list.children].forEach((item, i) => this.items.set(this.first + i, item));
      this.virtual = this.items.size < this.total;
      this.from = this.first;
      this.to = this.first + this.items.size;
      this.height = 32;
      if (!this.virtual) return;
      list.removeAttribute("start");
      document.querySelector("#wf .cut")?.classList.add("paged");
      this.measure();
      this.draw(this.from, this.to);
    }

    /** The height that most lines have. */
    measure() {
      const closed = [...this.items.values()].filter((item) => item.isConnected && !item.querySelector("details[open]"));
      const heights = closed.slice(0, 50).map((item) => item.getBoundingClientRect().height).sort((a, b) => a - b);
      const usual = heights[Math.floor(heights.length / 2)];
      if (usual > 0) this.height = usual;
    }

    /** How far below the list's top a line begins. */
    offset(line) {
      let y = line * this.height;
      for (const [odd, more] of this.odd) if (odd < line) y += more;
      return y;
    }

    at(y) {
      let line = Math.floor(y / this.height);
      // A few opened rows shift what is below them.
      for (let i = 0; i < 20 && line > 0 && this.offset(line) > y; i += 1) {
        line -= Math.max(1, Math.floor((this.offset(line) - y) / this.height));
      }
      return Math.min(Math.max(line, 0), this.total - 1);
    }

    gap(from, to) {
      const gap = document.createElement("li");
      gap.className = "gap";
      gap.setAttribute("aria-hidden", "true");
      gap.style.height = `${this.offset(to) - this.offset(from)}px`;
      return gap;
    }

    /** Shows the lines from one to another, as far as they are here; the rest are gaps. */
    draw(from, to) {
      const anchor = this.anchor();
      const wanted = [];
      const gap = (a, b) => { if (b > a) wanted.push(this.gap(a, b)); };
      gap(0, from);
      let missing = from;
      for (let line = from; line < to; line += 1) {
        const item = this.items.get(line);
        if (!item) continue;
        gap(missing, line);
        wanted.push(item);
        missing = line + 1;
      }
      gap(missing, this.total);
      const keep = new Set(wanted);
      for (const child of [...this.list.children]) if (!keep.has(child)) child.remove();
      // What stays is not touched, so that it keeps the focus.
      let next = this.list.firstChild;
      for (const child of wanted) {
        if (child === next) next = next.nextSibling;
        else this.list.insertBefore(child, next);
      }
      this.from = from;
      this.to = to;
      this.settle();
      this.hold(anchor);
      this.forget();
    }

    /** Remembers which lines have a height of their own. */
    settle() {
      let changed = false;
      for (let line = this.from; line < this.to; line += 1) {
        const item = this.items.get(line);
        if (!item || !item.isConnected) continue;
        const more = item.getBoundingClientRect().height - this.height;
        const known = this.odd.get(line) || 0;
        if (Math.abs(more - known) < 0.5) continue;
        if (Math.abs(more) < 0.5) this.odd.delete(line);
        else this.odd.set(line, more);
        changed = true;
      }
      return changed;
    }

    /** A line that is seen, and where. */
    anchor() {
      for (let line = this.from; line < this.to; line += 1) {
        const item = this.items.get(line);
        if (!item || !item.isConnected) continue;
        const { top, bottom } = item.getBoundingClientRect();
        if (bottom > 0) return { item, top };
      }
      return null;
    }

    hold(anchor) {
      if (!anchor || !anchor.item.isConnected) return;
      const by = anchor.item.getBoundingClientRect().top - anchor.top;
      if (Math.abs(by) >= 1) scrollBy(0, by);
    }

    forget() {
      if (this.items.size <= CACHED) return;
      const middle = (this.from + this.to) / 2;
      const far = [...this.items.keys()].sort((a, b) => Math.abs(b - middle) - Math.abs(a - middle));
      for (const line of far) {
        if (this.items.size <= CACHED / 2) break;
        const item = this.items.get(line);
        if (line >= this.from && line < this.to) break;
        const opened = item.querySelector("details[open]");
        if (opened) this.open.add(opened.id);
        this.items.delete(line);
      }
      for (const chunk of [...this.asked.keys()]) {
        if (!this.items.has(chunk * CHUNK)) this.asked.delete(chunk);
      }
    }

    /** Gets the lines of a chunk, once. */
    load(chunk) {
      if (!this.asked.has(chunk)) {
        const url = address({ part: "rows", from_row: chunk * CHUNK, rows: CHUNK });
        const loading = text(url).then((html) => {
          [...parse(html).firstElementChild.children].forEach((item, i) => {
            const line = chunk * CHUNK + i;
            if (this.items.has(line)) return;
            this.items.set(line, item);
            const row = item.querySelector("details");
            if (row && this.open.has(row.id)) row.open = true;
          });
        });
        this.asked.set(chunk, loading);
        loading.catch(() => this.asked.delete(chunk));
      }
      return this.asked.get(chunk);
    }

    has(from, to) {
      for (let line = from; line < to; line += 1) if (!this.items.has(line)) return false;
      return true;
    }

    /** Gets the lines from one to another and shows those that are wanted by then. */
    async want(from, to) {
      if (this.has(from, to)) return;
      const chunks = [];
      for (let chunk = Math.floor(from / CHUNK); chunk * CHUNK < to; chunk += 1) chunks.push(this.load(chunk));
      await Promise.all(chunks);
    }

    /** Brings the lines around what is seen into the page, a screen before and one after. */
    async update() {
      if (!this.virtual) return;
      const screen = Math.ceil(innerHeight / this.height);
      const top = this.list.getBoundingClientRect().top;
      const line = this.at(Math.max(0, -top));
      const seen = [line, Math.min(line + screen, this.total)];
      const reach = Math.floor(screen / 2);
      const enough = (edge, end) => edge === end || Math.abs(edge - (end ? seen[1] : seen[0])) >= reach;
      const inside = this.from <= seen[0] && this.to >= seen[1];
      const small = this.to - this.from <= 3 * screen;
      if (inside && small && enough(this.from, 0) && enough(this.to, this.total) && this.has(this.from, this.to)) return;
      const from = Math.max(0, line - screen);
      const to = Math.min(this.total, line + 2 * screen);
      this.draw(from, to);
      if (this.has(from, to)) return;
      try {
        await this.want(from, to);
      } catch {
        return;
      }
      if (lines === this && this.from === from && this.to === to) this.draw(from, to);
      place();
    }

    /** The stop of a line, which is brought into the page. */
    async stop(line) {
      if (line < 0 || line >= this.total) return null;
      if (!this.items.get(line)?.isConnected) {
        if (!this.virtual) return null;
        const screen = Math.ceil(innerHeight / this.height);
        const from = Math.max(0, line - screen);
        const to = Math.min(this.total, line + 2 * screen);
        await this.want(from, to);
        this.draw(from, to);
        scrollBy(0, this.items.get(line).getBoundingClientRect().top - innerHeight / 3);
      }
      return this.items.get(line).querySelector("summary, a.stop");
    }

    lineOf(element) {
      const item = element?.closest("#wf .lines > li");
      if (!item) return -1;
      for (let line = this.from; line < this.to; line += 1) if (this.items.get(line) === item) return line;
      return -1;
    }
  }

  let lines = new Lines(document.querySelector("#wf .lines"));
  let current = -1;

  /** Says which row is at the top, in the server's words. */
  function place() {
    const pos = byId("pos");
    if (!pos || !lines.virtual) return;
    const head = document.querySelector(".wf-head").getBoundingClientRect();
    const y = head.bottom - lines.list.getBoundingClientRect().top;
    const item = lines.items.get(lines.at(Math.max(0, y + 1)));
    if (!item?.dataset.n) return;
    pos.querySelector("b").textContent = item.dataset.n;
    pos.hidden = false;
  }

  function mark(stop) {
    for (const marked of all("#wf .cur")) marked.classList.remove("cur");
    (stop.matches("summary") ? stop : stop.closest(".row")).classList.add("cur");
  }

  let moving = Promise.resolve();
  async function select(line, where = "nearest") {
    const stop = await lines.stop(line);
    if (!stop) return;
    current = line;
    mark(stop);
    stop.focus({ preventScroll: true });
    stop.scrollIntoView({ block: where });
    // The sticky head may cover what was scrolled to just under the top.
    const head = document.querySelector(".wf-head");
    const covered = head.getBoundingClientRect().bottom - stop.getBoundingClientRect().top;
    if (covered > 0) scrollBy(0, -covered);
  }
  /** One move after the other, so that a held key does not overtake itself. */
  const move = (step) => { moving = moving.then(step).catch(() => {}); return moving; };

  document.addEventListener("focusin", (event) => {
    const stop = event.target.closest?.("#wf .lines summary, #wf .lines a.stop");
    const line = lines.lineOf(stop);
    if (line >= 0) { current = line; mark(stop); }
  });

  let waiting = false;
  function soon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; lines.update(); place(); });
  }
  addEventListener("scroll", soon, { passive: true });
  addEventListener("resize", () => { lines.odd.clear(); lines.measure(); if (lines.virtual) lines.draw(lines.from, lines.to); soon(); });

  // ---- an opened row gets what it shows when it is opened

  document.addEventListener("toggle", async (event) => {
    const row = event.target;
    if (!row.matches?.("#wf details.hop")) return;
    if (row.open) lines.open.add(row.id);
    else lines.open.delete(row.id);
    const more = row.querySelector("a.more");
    if (row.open && more && !row.dataset.asked) {
      row.dataset.asked = "1";
      try {
        const url = new URL(more.href);
        url.hash = "";
        url.searchParams.set("part", "detail");
        row.querySelector(".body").replaceWith(parse(await text(url)).querySelector(".body"));
      } catch {
        delete row.dataset.asked; // the link still leads there
      }
    }
    if (lines.settle() && lines.virtual) lines.draw(lines.from, lines.to);
  }, true);

  // ---- steps: another waterfall in place of this one

  let steps = 0;
  async function go(href, { push = true } = {}) {
    const url = new URL(href, location.href);
    const step = steps += 1;
    const old = byId("wf");
    const near = document.activeElement?.closest?.("#wf") ? document.activeElement : null;
    const focus = near && (near.id || near.closest("details.hop")?.id || near.closest(".fold")?.id);
    const seeks = ["hit", "open", "span", "find"].some((name) => {
      const now = new URL(location.href).searchParams.get(name);
      return url.searchParams.get(name) !== now;
    });
    const ask = new URL(url);
    ask.hash = "";
    ask.searchParams.set("part", "waterfall");
    // Lines above a fold stay, so the same window shows what was seen.
    if (lines.virtual && !seeks) ask.searchParams.set("from_row", String(lines.from));
    old.setAttribute("aria-busy", "true");
    let fresh;
    try {
      fresh = parse(await text(ask)).querySelector("#wf");
    } catch {
      location.assign(url);
      return;
    }
    if (step !== steps) return;
    const opened = new Set([...lines.open, ...all("details.hop[open]", old).map((row) => row.id)]);
    const anchor = lines.anchor();
    const held = anchor && anchor.item.querySelector("[id]")?.id;
    old.replaceWith(fresh);
    if (push) history.pushState(null, "", url);
    lines = new Lines(fresh.querySelector(".lines"));
    lines.open = opened;
    for (const row of all("details.hop", fresh)) if (opened.has(row.id)) row.open = true;
    const again = held && byId(held)?.closest("li");
    if (again && !seeks) lines.hold({ item: again, top: anchor.top });
    const hit = byId("found")?.dataset.line;
    if (url.hash && byId(url.hash.slice(1))) target();
    else if (seeks && hit !== undefined && url.searchParams.has("find")) await select(Number(hit), "center");
    if (focus && !seeks) {
      const again = byId(focus);
      (again?.querySelector(":scope > summary, a.stop") || again)?.focus({ preventScroll: true });
    } else if (near?.id === "find") {
      byId("find").focus({ preventScroll: true });
    }
    await lines.update();
    place();
  }

  /** Goes to what the address names: a row, or a span in one. */
  function target() {
    const wanted = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
    if (!wanted || !wanted.closest("#wf")) return;
    const row = wanted.closest("details.hop");
    if (row) row.open = true;
    const line = lines.lineOf(wanted);
    if (wanted === row || !row) move(() => select(line, "nearest"));
    else { if (line >= 0) { current = line; mark(row.querySelector("summary")); } wanted.scrollIntoView({ block: "center" }); }
  }

  addEventListener("popstate", () => go(location.href, { push: false }));

  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest?.("main a[href]");
    if (!link || link.hasAttribute("download") || link.origin !== location.origin || link.pathname !== location.pathname) return;
    event.preventDefault();
    const jump = link.closest(".jump");
    if (jump) move(() => select(Number(jump.dataset.line), "center"));
    else move(() => go(link.href));
  });

  document.addEventListener("submit", (event) => {
    if (!event.target.matches("#wf form.find")) return;
    event.preventDefault();
    const wanted = byId("find").value.trim();
    const next = byId("hit-after");
    const same = wanted === (new URL(location.href).searchParams.get("find") || "");
    if (same && next) move(() => go(next.href));
    else if (!same) move(() => go(address({ find: wanted || null, hit: null, from_row: null, open: null, span: null })));
  });

  // ---- drag over the bars or the strip: that part of the time

  let drag = null;
  const least = 6; // px, below which it is a click

  document.addEventListener("pointerdown", (event) => {
    const bar = event.target.closest?.("#wf .row > .c-bar");
    if (!bar || event.button || !event.isPrimary) return;
    const axis = bar.dataset.from ? bar : document.querySelector(".wf-head .c-bar");
    drag = { bar, axis, x: event.clientX, shade: null };
  });

  function part(x) {
    const { left, width } = drag.bar.getBoundingClientRect();
    return Math.min(Math.max((x - left) / width, 0), 1);
  }

  document.addEventListener("pointermove", (event) => {
    if (!drag) return;
    if (!drag.shade && Math.abs(event.clientX - drag.x) < least) return;
    if (!drag.shade) {
      drag.shade = document.createElement("div");
      drag.shade.className = "shade";
      byId("wf").append(drag.shade);
    }
    event.preventDefault();
    getSelection()?.removeAllRanges();
    const box = drag.bar.getBoundingClientRect();
    const wf = byId("wf").getBoundingClientRect();
    const [a, b] = [part(drag.x), part(event.clientX)].sort((one, other) => one - other);
    drag.shade.style.left = `${box.left - wf.left + a * box.width}px`;
    drag.shade.style.width = `${(b - a) * box.width}px`;
    const strip = drag.bar.closest(".strip");
    drag.shade.style.top = `${(strip ? box : document.querySelector(".wf-head").getBoundingClientRect()).top - wf.top}px`;
    drag.shade.style.height = strip ? `${box.height}px` : "";
  });

  function drop() {
    drag?.shade?.remove();
    drag = null;
  }

  document.addEventListener("pointerup", (event) => {
    if (!drag?.shade) { drag = null; return; }
    const [a, b] = [part(drag.x), part(event.clientX)].sort((one, other) => one - other);
    const [from, to] = [Number(drag.axis.dataset.from), Number(drag.axis.dataset.to)];
    const at = (share) => String(Number((from + share * (to - from)).toFixed(3)));
    // The button went up over a row: that is no click on it.
    const swallow = (click) => { click.preventDefault(); click.stopPropagation(); };
    addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => removeEventListener("click", swallow, true));
    drop();
    if (at(b) !== at(a)) move(() => go(address({ from: at(a), to: at(b), hit: null, open: null, span: null })));
  });
  document.addEventListener("pointercancel", drop);

  // ---- keys

  const follow = (id) => { const link = byId(id); if (link) move(() => go(link.href)); };
  const leave = (selector) => document.querySelector(selector)?.click();
  const here = () => lines.items.get(current);
  const focused = () => document.activeElement?.closest?.("#wf .lines > li");

  function unfold() {
    const item = here();
    const shut = item?.querySelector("a.tw.shut") || item?.querySelector(".fold a.stop");
    if (shut) move(() => go(shut.href));
    else if (item?.querySelector("a.tw")) move(() => select(current + 1));
  }

  function fold() {
    const item = here();
    const open = item?.querySelector("a.tw:not(.shut)");
    if (open) move(() => go(open.href));
    else if (item?.dataset.up) move(() => select(Number(item.dataset.up)));
  }

  function jump(id) {
    const link = byId(id);
    if (link) move(() => select(Number(link.dataset.line)));
  }

  const keys = {
    j: () => move(() => select(current + 1)),
    k: () => move(() => select(Math.max(current - 1, 0))),
    ArrowDown: () => keys.j(),
    ArrowUp: () => keys.k(),
    ArrowRight: unfold,
    ArrowLeft: fold,
    c: () => jump("go-culprit"),
    s: () => jump("go-surfaced"),
    "+": () => follow("zoom-in"),
    "=": () => follow("zoom-in"),
    "-": () => follow("zoom-out"),
    "\u2212": () => follow("zoom-out"),
    0: () => follow("zoom-fit"),
    d: () => follow("zoom-deadline"),
    a: () => { const other = document.querySelector("#clock-raw:not([aria-current]), #clock-aligned:not([aria-current])"); if (other) follow(other.id); },
    n: () => follow("hit-after"),
    "/": () => { const field = byId("find"); field.focus(); field.select(); },
    y: () => copy("json"),
    "[": () => leave(".crumb a[rel=prev]"),
    "]": () => leave(".crumb a[rel=next]"),
  };

  // Before the script of every page, which has other uses for some of these.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.key === "Escape" && drag) { drop(); return; }
    if (event.target.id === "find" && event.key === "Escape") {
      // It leaves the field where the match is; the link beside it ends the search.
      event.preventDefault();
      event.target.blur();
      return;
    }
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (!Object.hasOwn(keys, event.key)) return;
    // Arrows scroll the page until a row was chosen.
    if (event.key.startsWith("Arrow") && !focused()) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    keys[event.key]();
  }, { capture: true });

  // ---- begin where the address says

  if (lines.virtual && lines.first > 0 && !location.hash) {
    scrollTo(0, scrollY + lines.items.get(lines.first).getBoundingClientRect().top - innerHeight / 3);
  }
  const hit = byId("found")?.dataset.line;
  if (location.hash) target();
  else if (hit !== undefined) move(() => select(Number(hit), "center"));
  addEventListener("hashchange", target);
  lines.update().then(place);
})();
