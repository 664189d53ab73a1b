// One question at a time; the server chooses them and keeps the answers.

const byId = (id) => document.getElementById(id);
const SAID = { accept: "added", reject: "rejected", unsure: "not sure", skip: "put off" };
const MOST_LABELS = 30;

function tabId() {
  // the same after a reload: questions that were handed to this tab are handed to it again
  try {
    if (!sessionStorage.getItem("labelgap tab")) sessionStorage.setItem("labelgap tab", clickId());
    return sessionStorage.getItem("labelgap tab");
  } catch {
    return clickId();
  }
}

class ReviewDesk {
  constructor(book, reviewer) {
    this.book = book;
    this.client = tabId();
    this.questions = [];
    this.answers = [];
    this.history = [];
    this.at = 0;
    this.facts = new Map();
    this.work = Promise.resolve();
    for (const decision of Object.keys(SAID)) {
      byId(decision).addEventListener("click", () => this.soon(() => this.decide(decision)));
    }
    for (const name of ["undo", "undo-last"]) byId(name).addEventListener("click", () => this.soon(() => this.undo()));
    byId("export").addEventListener("click", () => this.soon(() => this.export()));
    byId("all-labels").addEventListener("toggle", () => this.soon(() => this.showLabels()));
    byId("find-label").addEventListener("input", () => this.listLabels());
    byId("to-report").href = "/report?" + new URLSearchParams({ token: book.token });
    document.addEventListener("keydown", (event) => this.key(event));
    const name = byId("reviewer");
    name.value = reviewer || (reviewerName() === "reviewer" ? "" : reviewerName());
    const keep = () => { try { localStorage.setItem("labelgap reviewer", name.value.trim()); } catch { /* only for this page */ } };
    if (reviewer) keep();
    name.addEventListener("change", keep);
  }

  // clicks and keys are worked off one after another: who is fast loses none
  soon(task) {
    this.work = this.work.then(task).then(() => {
      byId("trouble").hidden = true;
    }, (problem) => {
      byId("trouble").hidden = false;
      byId("trouble").textContent = problem instanceof TypeError
        ? "The server does not answer: your last click was not saved. Start it again and open the address it prints."
        : "Not saved: " + problem.message;
    });
    return this.work;
  }

  async load() {
    const batch = await this.book.ask("/api/batch?" + new URLSearchParams({ client: this.client }));
    this.questions = batch.questions;
    this.answers = this.questions.map(() => null);
    this.hasLearned = batch.n_learned > 0;
    this.at = 0;
    this.showProgress(batch.progress);
    this.showAgreement(batch.agreement);
    this.showEstimate(batch.estimate, batch.progress.n_wanted);
    this.show();
    document.body.dataset.ready = "yes";
  }

  get question() {
    return this.questions[this.at];
  }

  async send(item, label, decision, comment = "") {
    const reviewer = byId("reviewer").value.trim() || "reviewer";
    const click = { request: clickId(), item, label, decision, reviewer };
    if (comment) click.comment = comment;
    const answer = await this.book.ask("/api/decide", click);
    this.showProgress(answer.progress);
    this.say(`${label} for ${item}: ${SAID[decision] || "undecided"}.`);
  }

  async decide(decision) {
    if (!this.question) return;
    const question = this.question;
    await this.send(question.item, question.label, decision, byId("comment").value.trim());
    byId("comment").value = "";
    this.answers[this.at] = decision;
    this.history = this.history.filter((one) => one !== question);
    this.history.push(question);
    await this.forward();
  }

  async undo() {
    // takes back this answer, or else the last one, from an earlier batch too
    const question = this.answers[this.at] ? this.question : this.history[this.history.length - 1];
    if (!question) return;
    await this.send(question.item, question.label, "withdraw");
    this.history = this.history.filter((one) => one !== question);
    const here = this.questions.indexOf(question);
    if (here >= 0) {
      this.at = here;
      this.answers[here] = null;
    } else {
      this.questions.unshift(question);
      this.answers.unshift(null);
      this.at = 0;
    }
    this.show();
  }

  async forward() {
    const open = (from, to) => this.answers.findIndex((one, k) => k >= from && k < to && one === null);
    let next = open(this.at + 1, this.answers.length);
    if (next < 0) next = open(0, this.at);
    if (next >= 0) {
      this.at = next;
      this.show();
      return;
    }
    await this.load();
    if (this.question) this.say("The model has learned from your answers. Next batch: " + byId("question").textContent);
  }

  show() {
    byId("nothing").hidden = this.questions.length > 0;
    byId("card").hidden = this.questions.length === 0;
    if (!this.question) return;
    const one = this.question;
    const answer = this.answers[this.at];
    byId("place").textContent = `Question ${this.at + 1} of ${this.questions.length} in this batch`;
    byId("decided-as").textContent = answer ? SAID[answer] : "";
    byId("question").replaceChildren("Does ", element("em", {}, one.label), " belong to item ", element("em", {}, one.item), "?");
    byId("probability").replaceChildren(probabilityBar(one.probability));
    const moved = this.hasLearned && Math.abs(one.probability - one.audit_probability) >= 0.005;
    byId("probability-words").textContent = (one.is_random ? "drawn at random; " : "") + (moved
      ? `probability that it does; ${percent(one.audit_probability)} before the answers`
      : "probability that it does, says the audit");
    const words = spokenWords(one);
    byId("about").replaceChildren(...Object.entries(one.about).flatMap(
      ([name, text]) => [element("dt", {}, name), element("dd", {}, ...marked(text, words))]));
    byId("why").replaceChildren(this.why(one));
    for (const decision of Object.keys(SAID)) byId(decision).setAttribute("aria-pressed", String(answer === decision));
    byId("undo").disabled = !answer && this.history.length === 0;
    this.showLabel(one.label);
    if (byId("all-labels").open) this.soon(() => this.showLabels());
    byId("strip").replaceChildren(...this.questions.map((_, k) => this.tile(k)));
  }

  why(one) {
    const list = evidenceList(one);
    if (!list) return "";
    const [name] = list.children;
    if (one.evidence.similar.length) {
      // the first entry: each similar item can be looked at
      const links = one.evidence.similar.flatMap((similar) => {
        const link = element("button", { type: "button", class: "link" }, similar.item);
        link.addEventListener("click", () => this.soon(() => this.showOther(similar.item)));
        return [link, ` (${similar.similarity.toFixed(2)}) `];
      });
      name.nextElementSibling.replaceChildren(...links);
    }
    return list;
  }

  async showOther(item) {
    const { about, labels, knows_labels } = await this.book.ask("/api/item?" + new URLSearchParams({ item }));
    byId("other-name").textContent = item;
    byId("other-has").hidden = !knows_labels;
    byId("other-about").replaceChildren(...factList(about));
    const has = labels.filter((one) => one.is_positive || one.decision === "accept").map((one) => one.label);
    byId("other-labels").textContent = has.join(", ") || "none recorded";
    byId("other-item").showModal();
  }

  async showLabel(label) {
    if (!this.facts.has(label)) {
      try { this.facts.set(label, await this.book.ask("/api/label?" + new URLSearchParams({ label }))); } catch { return; }
    }
    if (!this.question || this.question.label !== label) return;
    const facts = this.facts.get(label);
    byId("about-label").hidden = Object.keys(facts).length === 0;
    byId("label-name").textContent = label;
    byId("label-facts").replaceChildren(...factList(facts));
  }

  async showLabels() {
    if (!byId("all-labels").open || !this.question) return;
    const { item } = this.question;
    const { labels } = await this.book.ask("/api/item?" + new URLSearchParams({ item }));
    this.itemLabels = { item, labels };
    this.listLabels();
  }

  listLabels() {
    if (!this.itemLabels) return;
    const { item, labels } = this.itemLabels;
    const text = byId("find-label").value.trim().toLowerCase();
    const found = labels.filter((one) => one.label.toLowerCase().includes(text));
    byId("item-labels").replaceChildren(...found.slice(0, MOST_LABELS).map((one) => this.labelRow(item, one)));
    const rest = found.length - MOST_LABELS;
    byId("item-labels-rest").textContent = rest > 0 ? `${rest} more: type a part of the name` : "";
  }

  labelRow(item, one) {
    if (one.is_positive) return element("li", {}, element("b", {}, one.label), element("span", { class: "small" }, "recorded"));
    const set = (decision, text) => {
      const pressed = one.decision === decision;
      const made = element("button", {
        type: "button", class: decision, "aria-pressed": String(pressed), "aria-label": `${text} ${one.label} for ${item}`,
      }, text);
      made.addEventListener("click", () => this.soon(async () => {
        await this.send(item, one.label, pressed ? "withdraw" : decision);
        const k = this.questions.findIndex((asked) => asked.item === item && asked.label === one.label);
        if (k >= 0) this.answers[k] = pressed ? null : decision;
        await this.showLabels();
        if (k >= 0) this.show();
      }));
      return made;
    };
    return element("li", {}, element("b", {}, one.label), element("span", { class: "small" }, one.probability === null ? "" : percent(one.probability)),
      set("accept", "Add"), set("reject", "No"), one.comment ? element("span", { class: "small" }, one.comment) : null);
  }

  tile(k) {
    const one = this.questions[k];
    const said = this.answers[k] ? SAID[this.answers[k]] : "undecided";
    const made = element("button", {
      type: "button", "data-decision": this.answers[k], "aria-current": k === this.at ? "true" : null,
      "aria-label": `Question ${k + 1}: ${one.label} for ${one.item}, ${said}`,
    }, String(k + 1));
    made.addEventListener("click", () => this.soon(() => this.go(k)));
    return element("li", {}, made);
  }

  showProgress(progress) {
    const whole = (value) => Math.round(value).toLocaleString("en");
    const { n_accepted, n_rejected, n_unsure, n_skipped, n_candidates, remaining } = progress;
    byId("n-accepted").textContent = whole(n_accepted);
    byId("n-rejected").textContent = whole(n_rejected);
    byId("n-unsure").textContent = whole(n_unsure);
    byId("n-skipped").textContent = whole(n_skipped);
    byId("n-decided").textContent = `${whole(n_accepted + n_rejected)} of ${whole(n_candidates)}`;
    byId("n-left").textContent = whole(remaining.value);
    byId("n-left-range").textContent = `${whole(remaining.low)} to ${whole(remaining.high)}`;
    byId("beyond").textContent = progress.beyond >= 0.5
      ? `The audit expects about ${whole(progress.beyond)} more missing labels outside this list.` : "";
    this.showCertificate(progress.certificate, progress.n_wanted);
    this.showFound(progress.found);
    const names = Object.entries(progress.by_reviewer);
    byId("reviewers-part").hidden = names.length < 2;
    byId("reviewers").textContent = names.map(([name, n]) => `${name}: ${n}`).join(", ");
    byId("disagreements-part").hidden = progress.disagreements.length === 0;
    byId("disagreements").replaceChildren(...progress.disagreements.map((one) => element("li", {},
      `${one.label} for ${one.item}: ` + one.answers.map(([who, what]) => `${who} ${what}`).join(", then "))));
  }

  showCertificate(proof, wanted) {
    const shown = proof !== null && wanted === null;
    byId("certificate-part").hidden = !shown;
    if (!shown) return;
    byId("certificate-part").dataset.holds = String(proof.holds);
    const drawn = `${proof.n_drawn} of the random questions ${proof.n_drawn === 1 ? "was" : "were"} answered.`;
    byId("certificate").textContent = proof.holds
      ? `With 95% confidence at least ${percent(proof.recall)} of the missing labels have been found: you may stop. ${drawn}`
      : `With 95% confidence at least ${percent(proof.recall)} have been found; the goal is ${percent(proof.goal)}. ${drawn}`;
  }

  showEstimate(made, wanted) {
    byId("estimate-part").hidden = wanted === null;
    if (wanted === null) return;
    const whole = (value) => Math.round(value).toLocaleString("en");
    byId("estimate").textContent = made
      ? `about ${whole(made.value)}; 95% interval ${whole(made.low)} to ${whole(made.high)} if they follow the predictions; `
        + `whatever they follow, ${whole(made.guaranteed_low)} to ${whole(made.guaranteed_high)}. From ${made.n_answers} of ${wanted} answers.`
      : `${wanted} random questions; the estimate appears after the first batch.`;
  }

  showAgreement(pairs) {
    byId("agreement").replaceChildren(...pairs.map((one) => element("li", {},
      `${one.first} and ${one.second} agree on ${one.n_agree} of ${one.n_both}` +
      (one.kappa === null ? "" : ` (kappa ${one.kappa.toFixed(2)})`))));
  }

  showFound(found) {
    const [decided, accepted] = found[found.length - 1];
    byId("found").toggleAttribute("hidden", decided < 2);
    if (decided < 2) return;
    const top = Math.max(accepted, 1);
    const place = ([x, y]) => `${(30 + 284 * x / decided).toFixed(1)},${(126 - 114 * y / top).toFixed(1)}`;
    byId("found-line").setAttribute("points", found.map(place).join(" "));
    byId("found-to").textContent = String(decided);
    byId("found-top").textContent = String(top);
  }

  key(event) {
    const typing = event.target.closest("input, select, textarea");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      a: () => this.decide("accept"), r: () => this.decide("reject"),
      m: () => this.decide("unsure"), s: () => this.decide("skip"),
      u: () => this.undo(), ArrowRight: () => this.go(this.at + 1), ArrowLeft: () => this.go(this.at - 1),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    this.soon(action);
  }

  go(to) {
    if (!this.questions[to]) return;
    this.at = to;
    this.show();
    this.say(byId("question").textContent);
  }

  async export() {
    await this.book.load();
    downloadDecisions(this.book);
  }

  say(text) {
    byId("said").textContent = text;
  }
}

function factList(facts) {
  return Object.entries(facts).flatMap(([name, text]) => [element("dt", {}, name), element("dd", {}, text)]);
}

function spokenWords(one) {
  // the words among the features that speak for the label: "title: cat food" gives the phrase
  return one.evidence.features.filter((f) => f.contribution > 0)
    .map((f) => f.feature.slice(f.feature.indexOf(": ") + 1).trim().toLowerCase()).filter((word) => word.length > 1);
}

function marked(text, words) {
  if (!words.length) return [text];
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+"));
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${escaped.join("|")})(?![\\p{L}\\p{N}])`, "giu");
  return text.split(pattern).map((part, k) => k % 2 ? element("mark", {}, part) : part);
}

const reviewData = JSON.parse(byId("review-data").textContent);
const desk = new ReviewDesk(new ServedBook(reviewData.audit, new URLSearchParams(location.search).get("token")), reviewData.reviewer);
desk.soon(() => desk.load());
