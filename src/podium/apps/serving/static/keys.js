import { make, ui } from "./page.js";
import { KINDS } from "./rules.js";

const HELP = [
  ["/", "find a query"],
  ["↑ ↓", "go through a list"],
  ["Enter", "choose a document, or let it go"],
  ...Object.entries(KINDS).map(([, { key, menu }]) => [key, `${menu.toLowerCase()}: what is chosen, or has the focus`]),
  ["Esc", "back to the list; let all go"],
  ["u", "undo (Ctrl+Z)"],
  ["y", "redo (Ctrl+Y)"],
  ["c", "copy rules.yaml"],
  ["?", "this list"],
];
const ACTIONS = { "/": "find", u: "undo", y: "redo", c: "copy", "?": "help", Escape: "escape" };
const OF_KINDS = Object.fromEntries(Object.entries(KINDS).map(([kind, { key }]) => [key, kind]));

/** Keys of the page: `actions` by name, and `add(kind, focused)` for a new rule. */
export function listenToKeys({ actions, add }) {
  ui("keys").replaceChildren(...HELP.flatMap(([key, words]) => [make("dt", {}, make("kbd", { textContent: key })), make("dd", { textContent: words })]));
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.isComposing || document.querySelector("dialog[open]")) return;
    const typing = event.target.closest("input:not([type=range], [type=checkbox]), textarea, select");
    if (event.ctrlKey || event.metaKey) {
      const name = { z: event.shiftKey ? "redo" : "undo", y: "redo" }[event.key.toLowerCase()];
      if (name && !typing) run(event, actions[name]);
      return;
    }
    if (event.key === "Escape") actions.escape(event.target);
    else if (typing || event.repeat) return;
    else if (event.key in ACTIONS) run(event, actions[ACTIONS[event.key]]);
    else if (event.key in OF_KINDS) run(event, () => add(OF_KINDS[event.key], event.target.closest(".doc")?.dataset.id));
  });
}

function run(event, call) {
  event.preventDefault();
  call();
}
