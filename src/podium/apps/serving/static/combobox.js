import { make } from "./page.js";

const MOST = 100;
let number = 0;

/**
 * A text field that finds one of many options: type, press up or down, then Enter. `options()` returns
 * {id, text, note} objects; `chosen(id)` is called with the choice.
 */
export class Combobox {
  constructor({ id, label, placeholder, options, chosen }) {
    this.options = options;
    this.chosen = chosen;
    this.shown = "";
    const popup = `options-${(number += 1)}`;
    this.input = make("input", {
      id, type: "text", role: "combobox", autocomplete: "off", placeholder, spellcheck: false,
      "aria-label": label, "aria-expanded": "false", "aria-controls": popup, "aria-autocomplete": "list",
    });
    this.popup = make("ul", { id: popup, className: "options", role: "listbox", "aria-label": label ?? "Choices", hidden: true });
    this.element = make("div", { className: "combobox" }, this.input, this.popup);
    this.input.addEventListener("focus", () => this.input.select());
    this.input.addEventListener("click", () => this.open(""));
    this.input.addEventListener("input", () => this.open(this.input.value));
    this.input.addEventListener("keydown", (event) => this.press(event));
    this.input.addEventListener("blur", () => this.close());
    // The field keeps the focus while an option is clicked.
    this.popup.addEventListener("pointerdown", (event) => event.preventDefault());
  }

  /** What the field shows while nothing is typed. */
  set value(text) {
    this.shown = text;
    this.input.value = text;
  }

  open(typed) {
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = ({ id, text }) => words.every((word) => `${text} ${id}`.toLowerCase().includes(word));
    const all = this.options().filter(fits);
    this.found = all.slice(0, MOST);
    const items = this.found.map((option, at) =>
      make("li", { id: `${this.popup.id}-${at}`, role: "option", "aria-selected": "false", onclick: () => this.take(at) },
        make("span", { textContent: option.text }), option.note && make("small", { textContent: option.note })),
    );
    const rest = all.length - this.found.length;
    if (rest > 0 || !all.length)
      items.push(make("li", { className: "rest", role: "presentation", textContent: rest > 0 ? `${rest} more: type on` : "Nothing like that" }));
    this.popup.replaceChildren(...items);
    this.popup.hidden = false;
    this.input.setAttribute("aria-expanded", "true");
    this.mark(all.length && typed ? 0 : -1);
  }

  close() {
    this.popup.hidden = true;
    this.input.setAttribute("aria-expanded", "false");
    this.input.removeAttribute("aria-activedescendant");
    this.input.value = this.shown;
  }

  mark(at) {
    this.at = at;
    [...this.popup.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
    const item = at < 0 ? null : this.popup.children[at];
    if (item) this.input.setAttribute("aria-activedescendant", item.id);
    else this.input.removeAttribute("aria-activedescendant");
    item?.scrollIntoView({ block: "nearest" });
  }

  take(at) {
    const option = this.found[at];
    if (!option) return;
    this.close();
    this.chosen(option.id);
  }

  press(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key in steps) {
      event.preventDefault();
      if (this.popup.hidden) this.open("");
      const count = this.found.length;
      if (count) this.mark((Math.max(this.at, steps[event.key] > 0 ? -1 : 0) + steps[event.key] + count) % count);
    } else if (event.key === "Enter" && !this.popup.hidden) {
      event.preventDefault();
      this.take(Math.max(this.at, 0));
    } else if (event.key === "Escape" && !this.popup.hidden) {
      event.stopPropagation();
      this.close();
    }
  }
}
