/*
 * The playground: a list, rules, and the list that results. The service decides; the page shows it. Every
 * change of a rule is sent, and only the last answer counts.
 */
import { clashesIn, findings, postrank } from "./answers.js";
import { Combobox } from "./combobox.js";
import { Documents, fromLines, fromSample } from "./documents.js";
import { Editor } from "./editor.js";
import { RuleFileDialog } from "./files.js";
import { History } from "./history.js";
import { saveToTab, loadFromTab } from "./tab_storage.js";
import { listenToKeys } from "./keys.js";
import { Lists } from "./lists.js";
import { alert, showHealth, tell, warn, withdraw } from "./notices.js";
import { announceMoves, refusedClashes, sayClash, servedClashes, summary, explainMove } from "./outcomes.js";
import { closable, debounced, make, ui } from "./page.js";
import { concerns, keyed, missingPart, newRule, tidy } from "./rules.js";
import { Publishing } from "./publishing.js";
import { Selection } from "./selection.js";
import { Service, lastOnly } from "./service.js";

const NARROW = matchMedia("(max-width: 52rem)");
const LONG = 12; // seconds
const UNCHANGED = { order: [], moves: new Map(), hidden: [] };

class Playground {
  constructor() {
    this.service = new Service();
    this.documents = new Documents("", [], "");
    this.rules = new History([], () => this.rulesChanged());
    this.found = { ...UNCHANGED, sent: [], outcomes: [] };
    this.selection = new Selection({ changed: () => this.draw(), add: (kind) => this.add(kind) });
    this.lists = new Lists((id) => this.selection.toggle(id));
    this.editor = new Editor(this);
    this.clashes = [];
    this.file = new RuleFileDialog({ text: () => this.yaml(), use: (text) => this.useText(text), review: (text, done) => this.review(text, done) });
    this.publishing = new Publishing(this);
    this.load = lastOnly((signal) => this.sample(signal));
    this.answer = lastOnly((signal) => this.ask(signal));
    this.turn = 0;
    this.soon = debounced(120, () => this.update());
  }

  async start() {
    this.wire();
    await this.guard(async () => {
      const [samples, models, rules] = await Promise.all(["/v1/samples", "/v1/models", "/v1/rules"].map((path) => this.service.ask(path)));
      this.samples = samples;
      this.models = models.models;
      this.served = rules.rules;
      this.showModels();
      this.rules.value = this.served.map(keyed);
      await this.choose(samples.queries[0].id);
      this.restore();
      await this.publishing.look();
    });
    await this.checkHealth();
    document.addEventListener("visibilitychange", () => document.hidden || this.checkHealth());
  }

  /** Whether the service could read its files; without an answer the lists say what is wrong. */
  async checkHealth() {
    try {
      showHealth(await this.service.ask("/healthz"));
    } catch {
      showHealth({ status: "unknown" });
    }
  }

  /** Show errors on the page. */
  async guard(work) {
    try {
      await work();
    } catch (error) {
      alert(error.message);
      ui("summary").textContent = ""; // it was about another answer
      this.busy(false);
    }
  }

  /** Whether what is shown is about to change; each change has a number. */
  busy(is) {
    if (is) this.turn += 1;
    ui("main").setAttribute("aria-busy", String(is));
  }

  // --- lists ---

  /** A query of the sample, or with another model the same one. */
  async choose(id = this.chosen) {
    this.chosen = id;
    this.busy(true);
    const documents = await this.load();
    if (documents) this.use(documents);
  }

  async sample(signal) {
    const sample = await this.service.ask("/v1/samples/one", { id: this.chosen }, signal);
    const model = this.models[ui("model").selectedIndex] ?? this.models[0];
    return fromSample(this.service, sample, model, this.samples.demo, signal);
  }

  /** Another list; one that was asked for before comes too late. */
  use(documents) {
    this.load.stop();
    this.documents = documents;
    this.selection.ids.clear();
    this.editor.forget();
    this.query.value = documents.query;
    this.found = { ...UNCHANGED, order: documents.listed.map((doc) => doc.id), sent: [], outcomes: [] };
    ui("source").textContent = documents.source;
    this.rulesChanged();
  }

  showModels() {
    ui("modelField").hidden = this.models.length < 2;
    ui("model").replaceChildren(...this.models.map((model) => make("option", { textContent: `${model.name} ${model.version}`, selected: model.default })));
  }

  // --- rules ---

  /** Rules that were worked on before the page was loaded again; Undo takes them back. */
  restore() {
    const before = loadFromTab("rules");
    if (before && !this.isServed(before)) this.setRecords(before);
  }

  isServed(records) {
    const told = (all) => JSON.stringify(all.map(tidy));
    return told(records) === told(this.served ?? []);
  }

  /** All rules, as a file has them. */
  records() {
    return this.rules.value.map(({ record }) => record);
  }

  /** Work on these rules; Undo takes them back. */
  setRecords(records) {
    this.rules.set(records.map(keyed));
  }

  /** Show the rules of the service. */
  showServed() {
    this.rules.value = this.served.map(keyed);
    this.rulesChanged();
  }

  /** The rules that can act on this list, and the others. */
  here() {
    const { query, ids } = this.documents;
    return this.rules.value.filter(({ key, record }) => this.editor.isNew(key) || concerns(record, query, ids));
  }

  add(kind, focused) {
    const ids = this.selection.ids.size ? [...this.selection.ids] : focused ? [focused] : [];
    const rule = newRule(kind, ids.filter((id) => this.documents.ids.has(id)), this.documents.query);
    this.editor.meet(rule.key);
    this.from = ids[0];
    this.selection.ids.clear();
    this.rules.set([...this.rules.value, rule]);
    tell(`Rule ${this.here().length} added.`);
    if (NARROW.matches && !missingPart(rule.record)) return;
    this.view("rules");
    this.editor.focus(rule.key);
  }

  /** A rule to begin with: something from further down belongs in the first three. */
  example() {
    const { listed } = this.documents;
    const doc = listed[Math.min(7, listed.length - 1)];
    if (doc) this.add("top-k", doc.id);
  }

  change(key, record, what) {
    this.editor.meet(key); // it stays in sight, whatever it is about now
    this.rules.set(this.rules.value.map((rule) => (rule.key === key ? { key, record } : rule)), what && `${key}-${what}`);
  }

  remove(key) {
    const at = this.editor.number(key) - 1;
    this.rules.set(this.rules.value.filter((rule) => rule.key !== key));
    tell("Rule removed.");
    const left = this.here();
    if (left.length) this.editor.focus(left[Math.min(at, left.length - 1)].key);
    else ui("menu").querySelector("summary").focus();
  }

  async useText(text) {
    const { rules } = await this.service.ask("/v1/rules/check", { yaml: text, findings: false });
    this.setRecords(rules);
    tell(`${rules.length} rules taken from the text.`);
  }

  /** What is not in the file. */
  unfinished() {
    const count = this.rules.value.filter(({ record }) => missingPart(record)).length;
    return count ? ` Without ${count === 1 ? "a rule that is" : `${count} rules that are`} not finished.` : "";
  }

  async yaml() {
    const rules = this.rules.value.filter(({ record }) => !missingPart(record)).map(({ record }) => tidy(record));
    return (await this.service.ask("/v1/rules/check", { rules, findings: false })).yaml;
  }

  /** Say what was done with a file; then, which of its rules clash. The text is taken in any case: work goes on elsewhere. */
  async review(text, done) {
    tell(`${done}${this.unfinished()}`);
    const { turn } = this;
    const title = (id) => this.documents.title(id);
    const { refused, served } = await clashesIn(this.service, text, this.clashes);
    if (turn !== this.turn) return;
    if (refused.length) warn(`${done}${this.unfinished()} But ${refusedClashes(refused, title)}`);
    else if (served.length) tell(`${done}${this.unfinished()} Note: ${servedClashes(served, title)}`, LONG);
  }

  rulesChanged() {
    withdraw();
    this.clashes = [];
    this.busy(true);
    this.answer.stop(); // it is about what was there before
    if (this.rules.past.length || this.rules.future.length) saveToTab("rules", this.records());
    this.editor.show(this.here());
    this.draw();
    this.soon();
  }

  // --- answers ---

  async update() {
    await this.guard(async () => {
      const { turn } = this;
      const answer = await this.answer();
      if (answer) this.settle(...answer);
      if (turn === this.turn) this.busy(false);
    });
  }

  /** The list under its rules, and what rules say of each other. */
  ask(signal) {
    const rules = this.here().filter(({ record }) => !missingPart(record));
    return Promise.all([postrank(this.service, this.documents, rules, signal), findings(this.service, rules, signal)]);
  }

  settle({ answer, clashes, sent, wrong }, found) {
    this.editor.findings = found;
    if (answer) {
      const moves = new Map((answer.moves ?? []).map((move) => [move.id, move]));
      this.found = { order: answer.ids, hidden: answer.hidden ?? [], moves, sent, outcomes: answer.rules ?? [] };
    }
    this.clashes = clashes;
    this.showClashes(Boolean(answer));
    this.editor.tell({ sent, outcomes: answer?.rules ?? [], clashes, wrong });
    this.draw();
    const said = summary({ ...this.found, documents: this.documents.listed, rules: sent, isOld: !answer, unused: wrong.size });
    ui("summary").textContent = said;
    ui("said").textContent = answer ? `${said} ${announceMoves(this.found.moves, (id) => this.documents.title(id))}` : "";
  }

  /** Each clash above the list, and a way out for each of its rules. */
  showClashes(isNew) {
    const number = (key) => this.editor.number(key);
    const keys = [...new Set(this.clashes.flatMap(({ rules }) => rules.map(({ key }) => key)))];
    const ways = keys.sort((one, other) => number(one) - number(other)).map((key) => ({ words: `Make rule ${number(key)} a wish`, run: () => this.soften(key) }));
    alert(this.clashes.map((clash) => sayClash(clash, number)), { ways, isNew });
  }

  // --- the page ---

  draw() {
    const title = (id) => this.documents.title(id);
    const { order, moves, hidden, sent } = this.found;
    const reasons = (move) => explainMove(move, sent, (key) => this.editor.number(key), title);
    this.lists.show({ documents: this.documents.listed, order, moves, hidden, selected: this.selection.ids, reasons });
    this.selection.show(title);
    const count = this.here().length;
    ui("count").textContent = count ? `(${count})` : "";
    for (const [name, steps] of [["undo", this.rules.past], ["redo", this.rules.future]])
      document.querySelector(`[data-do=${name}]`).disabled = !steps.length;
    ui("restart").hidden = !this.served?.length || this.isServed(this.records());
  }

  soften(key) {
    const { record } = this.rules.value.find((rule) => rule.key === key);
    this.change(key, { ...record, hard: false });
  }

  /** The part that is shown where there is no room for all; rules have room but on phones. */
  view(name) {
    if (name === "rules" && !NARROW.matches) return;
    ui("main").dataset.view = name;
    for (const button of document.querySelectorAll("[data-view][aria-pressed]")) button.setAttribute("aria-pressed", String(button.dataset.view === name));
  }

  wire() {
    this.query = new Combobox({
      id: "query", placeholder: "Find a query…",
      options: () => (this.samples?.queries ?? []).map(({ id, query, documents }) => ({ id, text: query, note: `${documents}` })),
      chosen: (id) => this.guard(() => this.choose(id)),
    });
    ui("queryField").append(this.query.element);
    ui("model").addEventListener("change", () => this.guard(() => this.choose()));
    const [paste, help] = [closable(ui("paste")), closable(ui("help"))];
    paste.querySelector("form").addEventListener("submit", () => this.use(fromLines(ui("pasteQuery").value.trim(), ui("pasteText").value)));
    const actions = {
      undo: () => this.rules.undo(),
      redo: () => this.rules.redo(),
      copy: () => this.guard(async () => this.file.copy(await this.yaml())),
      file: () => this.guard(() => this.file.open()),
      paste: () => paste.showModal(),
      help: () => help.showModal(),
      restart: () => this.setRecords(this.served),
      all: () => {
        this.lists.all = !this.lists.all;
        this.draw();
      },
      example: () => this.example(),
      find: () => this.query.input.focus(),
      escape: (from) => (from.closest(".card, .menu") ? this.back() : this.selection.clear()),
    };
    for (const button of document.querySelectorAll("[data-do]"))
      if (actions[button.dataset.do]) button.addEventListener("click", actions[button.dataset.do]);
    for (const button of document.querySelectorAll("button[data-view]")) button.addEventListener("click", () => this.view(button.dataset.view));
    listenToKeys({ actions, add: (kind, focused) => this.add(kind, focused) });
  }

  /** From a rule to the list, where one came from. */
  back() {
    ui("menu").open = false;
    this.view("after");
    const rows = [...ui("after").querySelectorAll(".doc")];
    (rows.find((row) => row.dataset.id === this.from) ?? rows[0] ?? ui("after")).focus();
  }
}

new Playground().start();
