/* A rule as a card: a sentence with controls in it, how much it counts, and its outcome. */
import { readCondition } from "./conditions.js";
import { make } from "./page.js";
import { KINDS, USUAL, hasForm, ofKind, rolesOf, say, sayWhen, scopeOf, targetOf, withTarget } from "./rules.js";
import { targetControls } from "./targets.js";

const FROM = -2;
const TO = 2;
const SCOPES = { query: "only the query", "": "every query", pattern: "queries like" };
const PRIORITY = "Where rules that must hold clash, the one of lower priority gives way. At equal priority a pin gives way to a hide, else the rule whose name sorts last.";
const ROLES = { docs: "Documents", first: "First", second: "Then" };

/** One rule on the page. The card calls `change(record, what)` and `remove()`. */
export class Card {
  constructor({ documents, query, change, remove }) {
    Object.assign(this, { documents, query, change, remove });
    this.element = make("li", { className: "card" });
    this.isOpen = false;
  }

  /** Show the current rule; a field in use keeps its text and the focus. */
  show(record, number) {
    const [active, shape] = [document.activeElement, shapeOf(record, this.documents.fields)];
    const isMine = this.element.contains(active);
    this.record = record;
    this.number = number;
    if (isMine && shape === this.shape && active.matches("input:not([role]), select")) {
      this.sync(active);
      return;
    }
    this.shape = shape;
    const field = isMine ? active.dataset.field : null;
    this.build();
    if (isMine) (this.find(field) ?? this.element.querySelector("select")).focus({ preventScroll: true });
  }

  find(field) {
    return field ? [...this.element.querySelectorAll("[data-field]")].find((one) => one.dataset.field === field) : null;
  }

  build() {
    const { record } = this;
    this.syncs = [];
    this.status = make("p", { className: "status" });
    this.badge = make("span", { className: "number", textContent: this.number });
    this.element.setAttribute("aria-label", `Rule ${this.number}`);
    this.element.replaceChildren(
      make("div", { className: "row" }, this.badge, this.kinds(),
        make("button", { type: "button", className: "quiet remove", "aria-label": `Remove rule ${this.number}`, title: "Remove", textContent: "×", onclick: () => this.remove() })),
      ...rolesOf(record).map((role, at) => make("div", { className: "part" }, at ? make("span", { textContent: "before" }) : "", this.target(role))),
      hasForm(record) ? make("div", { className: "part" }, ...this.numbers()) : make("p", { className: "about", textContent: "Change it in rules.yaml: File…" }),
      sayWhen(record) && make("p", { className: "about", textContent: sayWhen(record) }),
      this.strength(),
      this.scope(),
      this.more(),
      this.status,
    );
  }

  kinds() {
    const { record } = this;
    if (!hasForm(record)) return make("span", { className: "kind in-words", textContent: say(record, (id) => this.documents.title(id)) });
    const select = make("select", { className: "kind", "aria-label": `Rule ${this.number}: what it says`, "data-field": "kind" },
      ...Object.entries(KINDS).map(([kind, { menu }]) => make("option", { value: kind, textContent: menu, selected: kind === record.rule })));
    select.addEventListener("change", () => this.change(ofKind(this.record, select.value)));
    return select;
  }

  target(role) {
    return targetControls({
      target: targetOf(this.record, role), label: ROLES[role], hasEach: KINDS[this.record.rule].each, documents: this.documents,
      change: (target, what) => this.change(withTarget(this.record, role, target), what && `${role}-${what}`),
    });
  }

  numbers() {
    return KINDS[this.record.rule].numbers.map(([name, before, after]) => {
      const input = this.bound(name, {
        type: "number", min: name === "m" ? 0 : 1, step: 1, inputMode: "numeric",
      }, (record) => record[name] ?? USUAL[name] ?? "", (text) => (text === "" ? undefined : Number(text)));
      return make("label", { className: "inline" }, `${before} `, input, after && ` ${after}`);
    });
  }

  strength() {
    const hard = make("input", { type: "checkbox", role: "switch", checked: Boolean(this.record.hard), "data-field": "hard" });
    hard.addEventListener("change", () => this.change({ ...this.record, hard: hard.checked }));
    const must = make("label", { className: "inline" }, hard, " must hold");
    if (this.record.hard) return make("div", { className: "row strength" }, must, this.priority());
    const slider = make("input", { type: "range", min: FROM, max: TO, step: 0.05, "aria-label": "How much it counts", "data-field": "slider" });
    slider.addEventListener("input", () => this.change({ ...this.record, weight: rounded(10 ** Number(slider.value)) }, "weight"));
    const read = () => {
      const weight = this.record.weight ?? 1;
      slider.value = Math.log10(Math.max(weight, 10 ** FROM));
      slider.setAttribute("aria-valuetext", `weight ${weight}`);
    };
    read();
    this.syncs.push({ input: slider, read });
    const number = this.bound("weight", { type: "number", min: 0, step: "any", "aria-label": "Weight", inputMode: "decimal" },
      (record) => record.weight ?? 1, (text) => (text === "" ? undefined : Number(text)));
    return make("div", { className: "row strength" },
      make("span", { className: "ends", textContent: "a hint" }), slider, make("span", { className: "ends", textContent: "strongly" }), number, must);
  }

  /** The priority, which decides which of several clashing rules gives way. */
  priority() {
    const input = this.bound("priority", { type: "number", step: 1, title: PRIORITY }, (record) => record.priority ?? 0, (text) => (text === "" ? undefined : Number(text)));
    return make("label", { className: "inline", title: PRIORITY }, "priority ", input);
  }

  /** For which queries: one, all, or those like a pattern. */
  scope() {
    const scope = scopeOf(this.record);
    const select = make("select", { "aria-label": "For which queries", "data-field": "scope" },
      ...Object.entries(SCOPES).map(([value, words]) => make("option", { value, textContent: words, selected: value === scope })));
    select.addEventListener("change", () => {
      const { query: _, pattern: __, ...rest } = this.record;
      this.change(select.value ? { ...rest, [select.value]: this.query() } : rest);
    });
    const words = { query: "Query", pattern: "Pattern of queries, * for any text" }[scope];
    const text = scope && this.bound(scope, { type: "text", "aria-label": words, title: words }, (record) => record[scope] ?? "", String);
    return make("div", { className: "part scope" }, make("label", { className: "inline" }, "for ", select), text);
  }

  /** The days on which the rule holds, and its name. */
  more() {
    const text = (name, options = {}) => this.bound(name, { type: "text", ...options }, (r) => r[name] ?? "", (value) => value || undefined);
    const day = (name) => text(name, { type: "date" });
    const fields = [
      make("label", {}, "From ", day("starts")),
      make("label", {}, "Until ", day("ends")),
      make("label", {}, "Called ", text("name", { placeholder: "what it says" })),
    ];
    const details = make("details", { className: "more", open: this.isOpen }, make("summary", { textContent: when(this.record) }), make("div", { className: "grid" }, ...fields));
    details.addEventListener("toggle", () => (this.isOpen = details.open));
    this.syncs.push({ input: details, read: () => (details.firstChild.textContent = when(this.record)) });
    return details;
  }

  /** A field that changes one key of the rule. */
  bound(name, properties, get, set) {
    const input = make("input", { ...properties, "data-field": name });
    const read = () => {
      input.value = get(this.record);
    };
    read();
    input.addEventListener("input", () => {
      const next = { ...this.record, [name]: set(input.value) };
      if (next[name] === undefined && name !== "k" && name !== "m" && name !== "position") delete next[name];
      this.change(next, `${name}`);
    });
    this.syncs.push({ input, read });
    return input;
  }

  sync(active) {
    this.badge.textContent = this.number;
    for (const { input, read } of this.syncs) if (input !== active) read();
  }

  /** Show the outcome: {kind, text, actions}. */
  tell({ kind, text, actions = [] }) {
    this.element.dataset.status = kind;
    const same = this.status.textContent === text && !actions.length;
    if (same) return;
    this.status.replaceChildren(text, ...actions.map(({ words, run }) => make("button", { type: "button", className: "small", textContent: words, onclick: run })));
  }
}

const rounded = (weight) => Number(weight.toPrecision(2));

/** The values that decide which controls a card has. */
function shapeOf(record, fields) {
  const targets = rolesOf(record).map((role) => {
    const target = targetOf(record, role);
    if (target.mode !== "where") return target;
    const { field, comparison } = readCondition(target.text ?? "") ?? {};
    return ["where", field, comparison]; // not the value, which is being typed
  });
  const words = hasForm(record) ? "" : say(record, String);
  return JSON.stringify([record.rule, words, sayWhen(record), targets, Boolean(record.hard), scopeOf(record), fields]);
}

/** The days and the name of a rule, in words. */
function when(record) {
  const days = [record.starts && `from ${record.starts}`, record.ends && `until ${record.ends}`].filter(Boolean).join(" ");
  const said = [days, record.name && `called “${record.name}”`].filter(Boolean).join(", ");
  return said ? `Days and name: ${said}` : "Days and name";
}
