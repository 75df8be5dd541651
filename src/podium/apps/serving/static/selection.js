import { listed, make, ui } from "./page.js";
import { KINDS } from "./rules.js";

const ONE = ["top-k", "not-top-k", "pin", "hide"];
const SEVERAL = ["top-k", "not-top-k", "together", "apart", "hide"];
const TWO = ["before"];

/** The bar of what can become of the documents that are chosen. */
export class Selection {
  constructor({ changed, add }) {
    this.ids = new Set();
    this.changed = changed;
    this.add = add;
  }

  toggle(id) {
    if (!this.ids.delete(id)) this.ids.add(id);
    this.changed();
  }

  clear() {
    if (!this.ids.size) return;
    this.ids.clear();
    this.changed();
  }

  show(title) {
    const bar = ui("selection");
    const ids = [...this.ids];
    bar.hidden = !ids.length;
    if (!ids.length) return;
    const kinds = ids.length === 1 ? ONE : ids.length === 2 ? [...TWO, ...SEVERAL] : SEVERAL;
    const names = ids.length > 2 ? `${ids.length} documents` : listed(ids.map(title));
    const button = (kind) =>
      make("button", { type: "button", onclick: () => this.add(kind) },
        kind === "before" ? `${title(ids[0])} before ${title(ids[1])}` : words(kind), make("kbd", { textContent: KINDS[kind].key }));
    const focused = bar.contains(document.activeElement);
    bar.replaceChildren(
      make("strong", { textContent: names }), ...kinds.map(button),
      make("button", { type: "button", className: "quiet", onclick: () => this.clear() }, "Let go", make("kbd", { textContent: "Esc" })));
    if (focused) bar.querySelector("button").focus();
  }
}

/** The words of a menu with the numbers that a new rule has. */
function words(kind) {
  const { menu, numbers, start } = KINDS[kind];
  return numbers.reduce((text, [name]) => text.replace("…", start[name]), menu);
}
