/* The rules of a list as cards, each with its outcome. */
import { Card } from "./card.js";
import { ofClash, placeBeyond, sayOutcome, withOthers } from "./outcomes.js";
import { make, ui } from "./page.js";
import { KINDS, missingPart, say, sayScope, scopeOf } from "./rules.js";

export class Editor {
  constructor(playground) {
    this.playground = playground;
    this.cards = new Map();
    this.met = new Set();
    this.findings = { rules: [], found: [] };
    const menu = ui("menu");
    ui("kinds").replaceChildren(...Object.entries(KINDS).map(([kind, { menu: words, key }]) => make("li", {},
      make("button", { type: "button", onclick: () => this.start(kind) }, make("span", { textContent: words }), make("kbd", { textContent: key })))));
    document.addEventListener("click", (event) => {
      if (!menu.contains(event.target)) menu.open = false;
    });
  }

  start(kind) {
    ui("menu").open = false;
    this.playground.add(kind);
  }

  /** Keep a rule that somebody edits visible. */
  meet(key) {
    this.met.add(key);
  }

  /** Another list is shown: what was worked on is kept in sight only if it concerns that one. */
  forget() {
    this.met.clear();
  }

  isNew(key) {
    return this.met.has(key);
  }

  /** The number of a rule on the page. */
  number(key) {
    return this.shown.findIndex((rule) => rule.key === key) + 1;
  }

  show(rules) {
    const { documents } = this.playground;
    this.shown = rules;
    const cards = new Map(rules.map(({ key }) => [key, this.cards.get(key) ?? this.card(key)]));
    this.cards = cards;
    const known = { title: (id) => documents.title(id), all: () => documents.listed, fields: documents.fields, values: (field) => documents.values(field) };
    rules.forEach(({ key, record }, at) => {
      const card = cards.get(key);
      card.documents = known;
      card.show(record, at + 1);
      const lacks = missingPart(record);
      if (lacks) card.tell({ kind: "draft", text: lacks });
      else if (card.element.dataset.status === "draft") card.tell({ kind: "", text: "" });
    });
    this.place([...cards.values()].map((card) => card.element));
    ui("hint").hidden = rules.length > 0;
    this.showOthers();
  }

  /** Cards in order; one that has the focus is not taken out of the page. */
  place(elements) {
    const list = ui("cards");
    for (const old of [...list.children]) if (!elements.includes(old)) old.remove();
    elements.forEach((element, at) => {
      if (list.children[at] !== element) list.insertBefore(element, list.children[at] ?? null);
    });
  }

  card(key) {
    return new Card({
      query: () => this.playground.documents.query,
      change: (record, what) => this.playground.change(key, record, what),
      remove: () => this.playground.remove(key),
    });
  }

  focus(key) {
    const { element } = this.cards.get(key);
    element.scrollIntoView({ block: "nearest" });
    const lacks = missingPart(this.cards.get(key).record);
    (element.querySelector(lacks ? ".combobox input" : "input[type=number]:not([data-field=priority])") ?? element.querySelector("select")).focus({ preventScroll: true });
  }

  /** Rules for other queries or documents: kept, and written with the rest. */
  showOthers() {
    const here = new Set(this.shown.map(({ key }) => key));
    const others = this.playground.rules.value.filter(({ key }) => !here.has(key));
    const place = ui("elsewhere");
    place.hidden = !others.length;
    if (!others.length) return;
    const [summary, list] = place.children;
    summary.textContent = `${others.length} ${others.length === 1 ? "rule" : "rules"} for other queries or documents`;
    list.replaceChildren(...others.slice(0, 200).map(({ record }) => make("li", { textContent: `${say(record, String)}${scopeOf(record) && `, ${sayScope(record)}`}` })));
  }

  /** Show the outcome of each rule. */
  tell({ sent, outcomes, clashes, wrong }) {
    const count = this.playground.documents.listed.length;
    const tell = ({ key, record }, { kind, text }) => this.cards.get(key)?.tell({ kind, text: text + placeBeyond(record, count) });
    sent.forEach((rule, at) => {
      if (outcomes[at]) tell(rule, this.withFindings(rule.key, sayOutcome(rule.record, outcomes[at])));
    });
    for (const [key, text] of wrong) this.cards.get(key)?.tell({ kind: "conflict", text: `Cannot be used: ${text}.` });
    if (!clashes.length) return;
    sent.forEach((rule, at) => {
      const mine = clashes.filter(({ rules, isUndecided }) => rules.includes(rule) && !isUndecided).flatMap(({ rules }) => rules);
      const others = [...new Set(mine)].filter((other) => other !== rule).map(({ key }) => this.number(key)).sort((one, other) => one - other);
      if (mine.length) tell(rule, ofClash(others, outcomes[at]));
      else if (!outcomes.length) tell(rule, { kind: "idle", text: "Waits until the clash is gone." });
    });
  }

  withFindings(key, status) {
    const { rules, found } = this.findings;
    const mine = rules.findIndex((rule) => rule.key === key);
    const finding = found.find((one) => one.rules.includes(mine));
    if (!finding) return status;
    const text = withOthers(finding, mine, (at) => this.number(rules[at].key));
    return { kind: status.kind === "holds" ? "warned" : status.kind, text: `${status.text} ${text}` };
  }
}
