// Completion for the filter, and keys of the list. The list works without it.
"use strict";
(() => {
  const field = document.querySelector("input[data-complete]");
  if (!field) return;

  // What may stand where the caret is: fields, then comparisons, then values, then `and`, `or`.
  const AFTER_VALUE = ["and", "or"];
  const box = document.createElement("ul");
  box.id = "filter-choices";
  box.className = "choices";
  box.setAttribute("role", "listbox");
  box.setAttribute("aria-label", "What may stand here");
  box.hidden = true;
  field.parentElement.append(box);
  field.setAttribute("role", "combobox");
  field.setAttribute("aria-autocomplete", "list");
  field.setAttribute("aria-expanded", "false");
  field.setAttribute("aria-controls", box.id);

  let known = null;
  let names = { services: [], operations: [], dependencies: [] };
  let asked = false;
  let chosen = -1;
  let start = 0;

  async function load() {
    if (asked) return;
    asked = true;
    try {
      const list = document.getElementById("services");
      const [fields, found] = await Promise.all([field.dataset.complete, list.dataset.names].map((url) => fetch(url)));
      if (fields.ok) known = await fields.json();
      if (found.ok) names = await found.json();
      list.replaceChildren(...names.services.map((name) => {
        const option = document.createElement("option");
        option.value = name;
        return option;
      }));
    } catch { /* Without it the field is a field. */ }
    if (document.activeElement === field) offer();
  }

  // The word before the caret and what stands before it.
  function place() {
    const before = field.value.slice(0, field.selectionStart);
    const quote = /(["'])(?:(?!\1)[^\\]|\\.)*$/.exec(before.replace(/(["'])(?:(?!\1)[^\\]|\\.)*\1/g, (all) => "_".repeat(all.length)));
    const word = quote ? before.slice(quote.index) : /[^\s()=!<>~]*$/.exec(before)[0];
    return { word, rest: before.slice(0, before.length - word.length) };
  }

  function candidates() {
    const { word, rest } = place();
    start = rest.length;
    const comparison = /([a-z_.]+)\s*(!=|<=|>=|=|<|>|~)\s*$/.exec(rest);
    if (comparison) {
      const of = known.fields.find((one) => one.name === comparison[1]);
      if (!of) return [];
      const values = [...of.values, ...named(of.name)].map((text) => ({ text, insert: quoted(text), about: "" }));
      if (of.nullable && /=$/.test(comparison[2])) values.push({ text: "null", insert: "null", about: "not known" });
      return filtered(values, word.replace(/^["']/, ""));
    }
    const afterField = /(^|[\s(])([a-z_.]+)\s+$/.exec(rest);
    const isField = afterField && known.fields.find((one) => one.name === afterField[2]);
    if (isField && !word) {
      return isField.operators.map((text) => ({ text, insert: `${text} `, about: isField.type }));
    }
    const open = !rest.trim() || /(\(|\band|\bor|\bnot)\s*$/.test(rest);
    if (!open) return filtered(AFTER_VALUE.map((text) => ({ text, insert: `${text} `, about: "" })), word);
    return filtered(known.fields.map((one) => ({ text: one.name, insert: `${one.name} `, about: one.meaning })), word);
  }

  // What a field of names may be: services, what they call, or operations.
  function named(name) {
    if (/(^|\.)service$/.test(name)) return names.services;
    if (/\.to$/.test(name)) return [...names.services, ...names.dependencies];
    return /(^|\.)operation$/.test(name) ? names.operations : [];
  }

  function quoted(text) {
    return /^[^\s()=!<>~"']+$/.test(text) && !/^(and|or|not|null)$/.test(text)
      ? text : `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
  }

  function filtered(list, word) {
    const wanted = word.toLowerCase();
    const at = (one) => one.text.toLowerCase().indexOf(wanted);
    return list.filter((one) => at(one) >= 0).sort((a, b) => (at(a) ? 1 : 0) - (at(b) ? 1 : 0)).slice(0, 12);
  }

  function close() {
    box.hidden = true;
    chosen = -1;
    field.setAttribute("aria-expanded", "false");
    field.removeAttribute("aria-activedescendant");
  }

  function offer() {
    if (!known) return load();
    const found = candidates();
    chosen = -1;
    field.removeAttribute("aria-activedescendant");
    if (!found.length) return close();
    box.replaceChildren(...found.map((one, i) => {
      const item = document.createElement("li");
      item.id = `filter-choice-${i}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", "false");
      item.dataset.insert = one.insert;
      const code = document.createElement("code");
      code.textContent = one.text;
      item.append(code);
      if (one.about) {
        const about = document.createElement("span");
        about.className = "q";
        about.textContent = one.about;
        item.append(" ", about);
      }
      item.addEventListener("mousedown", (event) => { event.preventDefault(); take(item); });
      return item;
    }));
    box.hidden = false;
    field.setAttribute("aria-expanded", "true");
  }

  function move(by) {
    const items = [...box.children];
    if (chosen >= 0) items[chosen].setAttribute("aria-selected", "false");
    chosen = (chosen + by + items.length + (chosen < 0 && by < 0 ? 1 : 0)) % items.length;
    items[chosen].setAttribute("aria-selected", "true");
    items[chosen].scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", items[chosen].id);
  }

  function take(item) {
    const after = field.value.slice(field.selectionStart);
    const text = field.value.slice(0, start) + item.dataset.insert;
    field.value = text + after.trimStart();
    field.setSelectionRange(text.length, text.length);
    close();
    if (item.dataset.insert.endsWith(" ")) offer();
  }

  document.querySelector(".fform").addEventListener("focusin", load);
  field.addEventListener("focus", offer);
  field.addEventListener("input", offer);
  field.addEventListener("click", offer);
  field.addEventListener("blur", close);
  field.addEventListener("keydown", (event) => {
    if (box.hidden) {
      if (event.key === "ArrowDown") { event.preventDefault(); offer(); }
      return;
    }
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Escape") {
      event.preventDefault();
      close();
    } else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) {
      event.preventDefault();
      take(box.children[chosen]);
    }
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (event.target.closest("input, textarea, select, [contenteditable]")) return;
    if (event.key === "f") { event.preventDefault(); field.focus(); field.select(); }
    if (/^[1-9]$/.test(event.key)) {
      const head = document.querySelectorAll("table.req th a.srt")[Number(event.key) - 1];
      if (head) { event.preventDefault(); head.click(); }
    }
  });
})();
