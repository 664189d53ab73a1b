// The list of suggestions on the report page: filter, decide, export.

class SuggestionList {
  constructor(suggestions, book) {
    this.suggestions = suggestions;
    this.book = book;
    this.list = document.getElementById("suggestion-list");
    this.step = 15;
    this.limit = this.step;
    this.label = document.getElementById("filter-label");
    this.state = document.getElementById("filter-state");
    this.search = document.getElementById("filter-item");
    this.fillLabels();
    for (const control of [this.label, this.state, this.search]) {
      control.addEventListener("input", () => { this.limit = this.step; this.show(); });
    }
    document.getElementById("more").addEventListener("click", () => this.showMore());
    document.getElementById("export").addEventListener("click", () => downloadDecisions(book));
    const clear = document.getElementById("clear");
    if (clear) clear.addEventListener("click", () => this.clear());
    this.list.addEventListener("keydown", (event) => this.key(event));
    this.list.addEventListener("focusin", (event) => this.roam(event.target.closest(".suggestion")));
    this.show();
  }

  fillLabels() {
    const counts = new Map();
    for (const one of this.suggestions) counts.set(one.label, (counts.get(one.label) || 0) + 1);
    const sorted = [...counts].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0]));
    for (const [name, n] of sorted) this.label.append(element("option", { value: name }, `${name} (${n})`));
  }

  matching() {
    const text = this.search.value.trim().toLowerCase();
    return this.suggestions.filter((one) => {
      if (this.label.value && one.label !== this.label.value) return false;
      if (text && !one.item.toLowerCase().includes(text)) return false;
      const decided = this.book.get(one.item, one.label) !== null;
      return this.state.value === "all" || decided === (this.state.value === "decided");
    });
  }

  show() {
    const found = this.matching();
    const shown = found.slice(0, this.limit);
    this.list.replaceChildren(...shown.map((one) => element("li", {}, this.row(one))));
    const first = this.list.querySelector(".suggestion");
    if (first) first.tabIndex = 0;
    const rest = found.length - shown.length;
    const more = document.getElementById("more");
    more.hidden = rest === 0;
    more.textContent = `Show ${Math.min(rest, this.step)} more of ${rest}`;
    document.getElementById("none").hidden = found.length > 0;
    this.count();
  }

  showMore() {
    const before = this.list.children.length;
    this.limit += this.step;
    this.show();
    const next = this.list.querySelectorAll(".suggestion")[before];
    if (next) next.focus();
  }

  row(one) {
    const evidence = evidenceList(one);
    const row = element("div", { class: "suggestion", role: "group", tabindex: "-1" },
      element("span", { class: "rank", "aria-hidden": "true" }, String(one.rank)),
      element("div", { class: "what" }, element("b", { class: "tag" }, one.label), " ",
        element("span", { class: "item" }, "for item " + one.item)),
      probabilityBar(one.probability),
      element("div", { class: "actions" },
        this.button(one, "accept", "Accept", "a"), this.button(one, "reject", "Reject", "r")),
      element("span", { class: "decision-word" }),
      cellList(one),
      evidence && element("div", { class: "evidence" },
        element("details", {}, element("summary", {}, "Why: " + evidenceInShort(one)), evidence)));
    row.suggestion = one;
    this.mark(row);
    return row;
  }

  button(one, decision, text, key) {
    const made = element("button", {
      type: "button", class: decision, "aria-keyshortcuts": key,
      "aria-label": `${text} ${one.label} for ${one.item}`,
    }, text);
    made.addEventListener("click", () => {
      // a pressed button can be released
      const again = this.book.get(one.item, one.label) === decision;
      this.decide(made.closest(".suggestion"), again ? null : decision);
    });
    return made;
  }

  mark(row) {
    const one = row.suggestion;
    const decision = this.book.get(one.item, one.label);
    if (decision) row.dataset.decision = decision;
    else delete row.dataset.decision;
    row.querySelector(".decision-word").textContent = decision ? decision + "ed" : "";
    for (const kind of ["accept", "reject"]) {
      row.querySelector("button." + kind).setAttribute("aria-pressed", String(decision === kind));
    }
    const said = decision ? decision + "ed" : "undecided";
    row.setAttribute("aria-label", `${one.label} for ${one.item}, ${percent(one.probability)}, ${said}`);
  }

  async decide(row, decision) {
    const one = row.suggestion;
    try {
      await this.book.set(one.item, one.label, decision);
    } catch (problem) {
      this.say("Not saved: " + problem.message);
      return;
    }
    this.mark(row);
    this.count();
    this.say(`${one.label} for ${one.item}: ${decision ? decision + "ed" : "undecided"}.`);
  }

  count() {
    const all = this.book.all();
    const accepted = all.filter((one) => one.decision === "accept").length;
    const rejected = all.filter((one) => one.decision === "reject").length;
    document.getElementById("count").textContent = all.length
      ? `${accepted} accepted, ${rejected} rejected of ${this.suggestions.length}`
      : "Nothing decided yet";
    document.getElementById("export").disabled = all.length === 0;
    const clear = document.getElementById("clear");
    if (clear) clear.disabled = all.length === 0;
    document.getElementById("fleeting").hidden = this.book.lasting;
  }

  async clear() {
    const n = this.book.all().length;
    if (!confirm(`Clear all ${n} decisions on this page?`)) return;
    await this.book.clear();
    this.show();
    this.say("All decisions cleared.");
  }

  // one row at a time is in the tab order
  roam(row) {
    if (!row) return;
    for (const other of this.list.querySelectorAll('.suggestion[tabindex="0"]')) other.tabIndex = -1;
    row.tabIndex = 0;
  }

  key(event) {
    const row = event.target.closest(".suggestion");
    if (!row || event.ctrlKey || event.metaKey || event.altKey) return;
    const rows = [...this.list.querySelectorAll(".suggestion")];
    const at = rows.indexOf(row);
    const go = (to) => { if (rows[to]) rows[to].focus(); };
    const actions = {
      ArrowDown: () => go(at + 1),
      ArrowUp: () => go(at - 1),
      Home: () => go(0),
      End: () => go(rows.length - 1),
      a: () => { this.decide(row, "accept"); go(at + 1); },
      r: () => { this.decide(row, "reject"); go(at + 1); },
      u: () => this.decide(row, null),
      e: () => { const why = row.querySelector("details"); if (why) why.open = !why.open; },
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }

  say(text) {
    document.getElementById("said").textContent = text;
  }
}

// what the item says of itself
function cellList(one) {
  if (!one.cells || !one.cells.length) return null;
  const parts = one.cells.flatMap(([name, content]) => [element("dt", {}, name), element("dd", {}, content)]);
  return element("dl", { class: "cells" }, ...parts);
}

async function startReport() {
  const data = JSON.parse(document.getElementById("audit-data").textContent);
  let book;
  if (data.served) {
    book = new ServedBook(data.audit, new URLSearchParams(location.search).get("token"));
    await book.load();
  } else {
    book = new LocalBook(data.audit);
  }
  new SuggestionList(data.suggestions, book);
}

if (document.getElementById("suggestion-list")) startReport();
