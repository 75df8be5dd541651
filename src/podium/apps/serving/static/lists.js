/* The list before and after the rules; rows go from place to place. */
import { make, plural, ui } from "./page.js";

export const PAGE = 20;
const STILL = matchMedia("(prefers-reduced-motion: reduce)");

/** One list: rows by document, kept while it is shown, so that they can be seen to move. */
class List {
  constructor(place, toggled) {
    this.place = place;
    this.toggled = toggled;
    this.rows = new Map();
    place.addEventListener("keydown", (event) => this.press(event));
  }

  /** Entries {doc, rank, badge, reasons, kind}, in order. */
  show(entries, selected) {
    const focused = document.activeElement; // taken before rows are made: that takes it out of the page
    const isHere = this.place.contains(focused);
    const before = new Map([...this.rows].map(([id, row]) => [id, row.getBoundingClientRect().top]));
    const rows = new Map(entries.map((entry) => [entry.doc.id, this.row(entry, selected)]));
    this.place.replaceChildren(...rows.values());
    if (isHere && rows.has(focused.dataset.id)) focused.focus({ preventScroll: true });
    this.rows = rows;
    if (!STILL.matches) this.move(before);
  }

  move(before) {
    for (const [id, row] of this.rows) {
      const from = before.get(id);
      if (from === undefined) {
        if (before.size) row.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 300 });
        continue;
      }
      const step = from - row.getBoundingClientRect().top;
      if (Math.abs(step) < 1) continue;
      row.animate([{ transform: `translateY(${step}px)` }, { transform: "none" }], { duration: 380, easing: "ease-in-out" });
    }
  }

  row({ doc, rank, badge, reasons, kind = "" }, selected) {
    const row = this.rows.get(doc.id) ?? make("li");
    const button = row.firstChild ?? make("button", { type: "button", className: "doc" });
    row.className = kind;
    button.dataset.id = doc.id;
    button.setAttribute("aria-pressed", String(selected.has(doc.id)));
    button.onclick = () => this.toggled(doc.id);
    button.replaceChildren(
      make("span", { className: "rank", textContent: rank ?? "–" }),
      make("span", { className: "name" }, make("span", { className: "title", textContent: doc.title }), make("small", { textContent: doc.note })),
      ...(badge ? [badge] : []),
    );
    row.replaceChildren(button, ...(reasons ? [reasons] : []));
    return row;
  }

  /** Up and down go from row to row. */
  press(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const button = event.target.closest(".doc");
    if (!step || !button) return;
    event.preventDefault();
    const all = [...this.place.querySelectorAll(".doc")];
    all[all.indexOf(button) + step]?.focus();
  }
}

/** Both lists. */
export class Lists {
  constructor(toggled) {
    this.before = new List(ui("before"), toggled);
    this.after = new List(ui("after"), toggled);
    this.hidden = new List(ui("hidden"), toggled);
    this.all = false;
  }

  /** The documents in their order, and what became of it: {order, moves, hidden} by ids. */
  show({ documents, order, moves, hidden, selected, reasons }) {
    const byId = new Map(documents.map((doc) => [doc.id, doc]));
    const shown = this.all ? documents.length : PAGE;
    const digits = decimals(documents);
    this.before.show(documents.slice(0, shown).map((doc, at) => ({ doc, rank: at + 1, badge: score(doc, digits) })), selected);
    const entries = order.slice(0, shown).map((id, at) => {
      const move = moves.get(id);
      const kind = !move ? "" : move.to < move.from ? "is-up" : "is-down";
      return { doc: byId.get(id), rank: at + 1, badge: move && moved(move), reasons: move && reasons(move), kind };
    });
    this.after.show(entries, selected);
    ui("hiddenPart").hidden = !hidden.length;
    this.hidden.show(hidden.map((id) => ({ doc: byId.get(id), reasons: moves.has(id) ? reasons(moves.get(id)) : null, kind: "is-hidden" })), selected);
    const more = ui("all");
    more.hidden = documents.length <= PAGE;
    more.textContent = this.all ? `Show the first ${PAGE}` : `Show all ${plural(documents.length, "document")}`;
    more.setAttribute("aria-expanded", String(this.all));
  }
}

/** The decimals of all scores of a list, so that the points stand below each other: three digits for the largest. */
function decimals(documents) {
  const largest = Math.max(...documents.map((doc) => Math.abs(doc.score ?? 0)));
  return largest ? Math.min(Math.max(2 - Math.floor(Math.log10(largest)), 0), 6) : 2;
}

const score = (doc, digits) =>
  doc.score === undefined ? null : make("span", { className: "score", title: `Score ${doc.score}`, textContent: doc.score.toFixed(digits).replace("-", "−") });

function moved({ from, to }) {
  const up = to < from;
  return make("span", { className: "move" },
    make("span", { className: "step" }, make("span", { "aria-hidden": "true", textContent: up ? "▲" : "▼" }), make("span", { className: "hidden-text", textContent: up ? "up " : "down " }), String(Math.abs(from - to))),
    make("small", { textContent: `${from} → ${to}` }),
  );
}
