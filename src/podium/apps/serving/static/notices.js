/* What the page says beside its lists: something stands in the way, or something was done. */
import { make, ui } from "./page.js";

const SECONDS = 4;
let silence;

/** Something stands in the way: it is said above the list, which is as it was before unless `isNew`. */
export function alert(said, { ways = [], isNew = false } = {}) {
  const place = ui("alert");
  const lines = [said].flat();
  const text = lines.join("");
  place.hidden = !text;
  document.querySelector("[data-part=after]").classList.toggle("is-old", Boolean(text) && !isNew);
  if (place.textContent === text && !ways.length) return;
  const buttons = ways.map(({ words, run }) => make("button", { type: "button", className: "small", textContent: words, onclick: run }));
  place.replaceChildren(
    ...lines.map((line) => make("p", { textContent: line })),
    ...(ways.length && !isNew ? [make("p", { textContent: "The list below is as it was before." })] : []),
    make("div", { className: "row" }, ...buttons));
}

/** A file of the service cannot be read: people who write rules see it here, beside the last good rules. */
export function showHealth({ status, reasons = [] }) {
  const place = ui("health");
  place.hidden = status !== "degraded";
  const told = ["A file of the service cannot be used. The last good version stays in service:", ...reasons];
  place.replaceChildren(...(place.hidden ? [] : told.map((line) => make("p", { textContent: line }))));
}

/** Something was done: it is said for a while, in the dialog that is open or on the page. */
export function tell(text, seconds = SECONDS) {
  show(text, false);
  silence = setTimeout(() => show("", false), seconds * 1000);
}

/** Something was done that may not be what is wanted: it is said until something else is. */
export const warn = (text) => show(text, true);

/** Remove the warning, which may no longer apply. */
export function withdraw() {
  if (ui("told").classList.contains("is-warning")) show("", false);
}

function show(text, isWarning) {
  clearTimeout(silence);
  const dialog = document.querySelector("dialog[open] [role=status]");
  for (const place of [ui("told"), dialog]) {
    if (!place) continue;
    place.textContent = text;
    place.classList.toggle("is-warning", isWarning);
  }
}
