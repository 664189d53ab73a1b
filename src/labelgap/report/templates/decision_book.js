"use strict";
// Decisions about suggestions: kept in this browser, or by the server that served the page.

const keyOf = (item, label) => JSON.stringify([item, label]);

class LocalBook {
  // everything in the storage of the browser, under the id of the audit
  constructor(audit) {
    this.audit = audit;
    this.name = "labelgap decisions " + audit;
    this.lasting = true;
    this.decisions = new Map();
    try {
      const kept = JSON.parse(localStorage.getItem(this.name) || "[]");
      for (const one of kept) this.decisions.set(keyOf(one.item, one.label), one);
    } catch {
      this.lasting = false;
    }
  }

  get(item, label) {
    const kept = this.decisions.get(keyOf(item, label));
    return kept ? kept.decision : null;
  }

  async set(item, label, decision) {
    const key = keyOf(item, label);
    this.decisions.delete(key);
    if (decision) {
      this.decisions.set(key, { item, label, decision, time: new Date().toISOString() });
    }
    try {
      localStorage.setItem(this.name, JSON.stringify([...this.decisions.values()]));
    } catch {
      this.lasting = false;
    }
  }

  async clear() {
    this.decisions.clear();
    try { localStorage.removeItem(this.name); } catch { this.lasting = false; }
  }

  all() {
    return [...this.decisions.values()];
  }
}

class ServedBook {
  // every decision goes to the server at once; what it answers is what counts
  constructor(audit, token) {
    this.audit = audit;
    this.token = token;
    this.work = Promise.resolve();
    this.lasting = true;
    this.decisions = new Map();
  }

  async ask(path, body) {
    const options = { headers: { "X-Labelgap-Token": this.token }, cache: "no-store" };
    if (body !== undefined) {
      options.method = "POST";
      options.headers["Content-Type"] = "application/json";
      options.body = JSON.stringify(body);
    }
    const answer = await fetch(path, options);
    if (!answer.ok) throw new Error((await answer.text()) || answer.statusText);
    return answer.json();
  }

  async load() {
    const file = await this.ask("/api/decisions");
    this.decisions = new Map(file.decisions.map((one) => [keyOf(one.item, one.label), one]));
  }

  get(item, label) {
    const kept = this.decisions.get(keyOf(item, label));
    return kept ? kept.decision : null;
  }

  async set(item, label, decision) {
    const click = { request: clickId(), item, label, decision: decision || "withdraw", reviewer: reviewerName() };
    // one after another, in the order of the clicks; a failure does not hold up the next
    const sent = this.work.then(() => this.ask("/api/decide", click));
    this.work = sent.catch(() => null);
    await sent;
    const key = keyOf(item, label);
    this.decisions.delete(key);
    if (decision) this.decisions.set(key, { item, label, decision, time: new Date().toISOString() });
  }

  all() {
    return [...this.decisions.values()];
  }
}

function clickId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((one) => one.toString(16).padStart(2, "0")).join("");
}

function reviewerName() {
  try { return localStorage.getItem("labelgap reviewer") || "reviewer"; } catch { return "reviewer"; }
}

function downloadDecisions(book) {
  const file = { format: "labelgap decisions", version: 1, audit: book.audit, decisions: book.all() };
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([JSON.stringify(file, null, 1)], { type: "application/json" }));
  link.download = "labelgap-decisions-" + book.audit.slice(0, 8) + ".json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// -- building blocks of both pages; text is always text, never markup

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter((one) => one !== null));
  return made;
}

const percent = (fraction) =>
  fraction >= 0.9995 ? ">99.9%" : (100 * fraction).toFixed(fraction > 0.99 || fraction < 0.1 ? 1 : 0) + "%";

function probabilityBar(fraction) {
  const bar = document.getElementById("probability-bar").content.cloneNode(true);
  bar.querySelector(".fill").setAttribute("width", 100 * fraction + "%");
  return element("div", { class: "probability" }, bar, element("span", {}, percent(fraction)));
}

function evidenceList(one) {
  const list = element("dl");
  const add = (name, text) => text && list.append(element("dt", {}, name), element("dd", {}, text));
  const { similar, cooccurring, features, words = [] } = one.evidence;
  add("The item says", words.map(
    (w) => w.named ? `the label: “${w.word}”` : `“${w.word}”, near the label (${w.cosine.toFixed(2)})`
  ).join(", "));
  add("Similar items that have it", similar.map((s) => `${s.item} (${s.similarity.toFixed(2)})`).join(", "));
  add("Co-occurring labels", cooccurring.map(
    (c) => `${c.label} (makes it ${c.lift.toFixed(1)} times as probable; ${c.n_both} items have both)`
  ).join(", "));
  add("Features, with their contributions", features.map(
    (f) => `${f.feature} (${f.contribution < 0 ? "−" : "+"}${Math.abs(f.contribution).toFixed(2)})`
  ).join(", "));
  return list.childElementCount ? list : null;
}

function evidenceInShort(one) {
  const { similar, cooccurring, features, words = [] } = one.evidence;
  const some = (list, name) => list.slice(0, 3).map((entry) => entry[name]).join(", ");
  return [
    words.length ? `says “${words[0].word}”` : "",
    cooccurring.length ? "has " + some(cooccurring, "label") : "",
    features.length ? some(features, "feature") : "",
    similar.length ? "like " + some(similar, "item") : "",
  ].filter(Boolean).join(" · ");
}
