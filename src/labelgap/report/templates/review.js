// One question at a time; the server chooses them and keeps the answers.

const byId = (id) => document.getElementById(id);
const SAID = { accept: "added", reject: "rejected", skip: "skipped" };

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
  constructor(book) {
    this.book = book;
    this.client = tabId();
    this.questions = [];
    this.answers = [];
    this.at = 0;
    this.work = Promise.resolve();
    for (const decision of ["accept", "reject", "skip"]) {
      byId(decision).addEventListener("click", () => this.soon(() => this.decide(decision)));
    }
    byId("undo").addEventListener("click", () => this.soon(() => this.undo()));
    byId("export").addEventListener("click", () => this.soon(() => this.export()));
    byId("to-report").href = "/report?" + new URLSearchParams({ token: book.token });
    document.addEventListener("keydown", (event) => this.key(event));
    const name = byId("reviewer");
    name.value = reviewerName() === "reviewer" ? "" : reviewerName();
    name.addEventListener("change", () => {
      try { localStorage.setItem("labelgap reviewer", name.value.trim()); } catch { /* only for this page */ }
    });
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
    this.at = 0;
    this.showProgress(batch.progress);
    this.show();
    document.body.dataset.ready = "yes";
  }

  get question() {
    return this.questions[this.at];
  }

  async decide(decision) {
    if (!this.question) return;
    const { item, label } = this.question;
    const reviewer = byId("reviewer").value.trim() || "reviewer";
    const answer = await this.book.ask("/api/decide", { request: clickId(), item, label, decision, reviewer });
    this.answers[this.at] = decision === "withdraw" ? null : decision;
    this.showProgress(answer.progress);
    this.say(`${label} for ${item}: ${SAID[decision] || "undecided"}.`);
    if (decision === "withdraw") this.show();
    else await this.forward();
  }

  async undo() {
    // takes back this answer, or else the one before
    if (!this.answers[this.at]) {
      const before = this.answers.slice(0, this.at).findLastIndex((one) => one !== null);
      if (before < 0) return;
      this.at = before;
    }
    await this.decide("withdraw");
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
    byId("probability-words").textContent = Math.abs(one.probability - one.audit_probability) < 0.005
      ? "probability that it does"
      : `probability that it does; ${percent(one.audit_probability)} in the audit`;
    byId("about").replaceChildren(...Object.entries(one.about).flatMap(
      ([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
    byId("why").replaceChildren(evidenceList(one) || "");
    byId("accept").setAttribute("aria-pressed", String(answer === "accept"));
    byId("reject").setAttribute("aria-pressed", String(answer === "reject"));
    byId("undo").disabled = !this.answers.slice(0, this.at + 1).some(Boolean);
    byId("strip").replaceChildren(...this.questions.map((_, k) => this.tile(k)));
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
    const { n_accepted, n_rejected, n_skipped, n_candidates, remaining } = progress;
    byId("n-accepted").textContent = whole(n_accepted);
    byId("n-rejected").textContent = whole(n_rejected);
    byId("n-skipped").textContent = whole(n_skipped);
    byId("n-decided").textContent = `${whole(n_accepted + n_rejected)} of ${whole(n_candidates)}`;
    byId("n-left").textContent = whole(remaining.value);
    byId("n-left-range").textContent = `${whole(remaining.low)} to ${whole(remaining.high)}`;
    byId("beyond").textContent = progress.beyond >= 0.5
      ? `The audit expects about ${whole(progress.beyond)} more missing labels outside this list.` : "";
    this.showFound(progress.found);
    const names = Object.entries(progress.by_reviewer);
    byId("reviewers-part").hidden = names.length < 2;
    byId("reviewers").textContent = names.map(([name, n]) => `${name}: ${n}`).join(", ");
    byId("disagreements-part").hidden = progress.disagreements.length === 0;
    byId("disagreements").replaceChildren(...progress.disagreements.map((one) => element("li", {},
      `${one.label} for ${one.item}: ` + one.answers.map(([who, what]) => `${who} ${what}`).join(", then "))));
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
      a: () => this.decide("accept"), r: () => this.decide("reject"), s: () => this.decide("skip"),
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

const reviewData = JSON.parse(byId("review-data").textContent);
const desk = new ReviewDesk(new ServedBook(reviewData.audit, new URLSearchParams(location.search).get("token")));
desk.soon(() => desk.load());
