/* What the page says beside its lists: something stands in the way, or something was done. */
import { make, ui } from "./page.js";

const SECONDS = 4;
let silence;

/** Something stands in the way: it is said above the list, with ways out as {words, run}. */
export function alert(text, ways = []) {
  const place = ui("alert");
  place.hidden = !text;
  document.querySelector("[data-part=after]").classList.toggle("is-old", Boolean(text));
  if (place.textContent === text && !ways.length) return;
  const buttons = ways.map(({ words, run }) => make("button", { type: "button", className: "small", textContent: words, onclick: run }));
  place.replaceChildren(
    make("p", { textContent: text }),
    ...(ways.length ? [make("p", { textContent: "The list below is as it was before." })] : []),
    make("div", { className: "row" }, ...buttons));
}

/** Something was done: it is said for a while. */
export function tell(text) {
  ui("told").textContent = text;
  clearTimeout(silence);
  silence = setTimeout(() => (ui("told").textContent = ""), SECONDS * 1000);
}
