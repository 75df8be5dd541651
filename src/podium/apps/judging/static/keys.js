const ACTIONS = {
  ArrowLeft: "left", ArrowRight: "right", 1: "left", 2: "right", t: "tie", b: "bad", u: "undo", p: "pause",
  c: "comment", s: "later", "?": "help",
};
const OF_PAIRS = ["left", "right", "tie", "bad"];

/** What keys do: actions of the page, or the end of a dialog; `letters()` says whether letters count. */
export function listenToKeys({ actions, sheets, grades, letters }) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const open = document.querySelector("dialog[open]");
    if (open) inDialog(event, open, sheets);
    else onPage(event, actions, grades(), letters());
  });
}

function onPage(event, actions, grades, letters) {
  if (event.repeat || event.target.closest("input, textarea, select, [contenteditable]")) return;
  if (event.key.length === 1 && event.key !== "?" && !letters) return;
  if (grades && /^[1-9]$/.test(event.key)) {
    grades[Number(event.key) - 1]?.click();
    return;
  }
  const name = ACTIONS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!name || (grades && OF_PAIRS.includes(name))) return;
  event.preventDefault();
  actions[name]();
}

/** Any key ends idleness, P a pause, ? the help; none of them is an answer. */
function inDialog(event, open, { idle, paused, help }) {
  if (event.repeat || ["Tab", "Shift", "Escape"].includes(event.key)) return;
  const ends =
    open === idle.dialog ||
    (open === paused.dialog && event.key.toLowerCase() === "p") ||
    (open === help.dialog && event.key === "?");
  if (!ends) return;
  event.preventDefault();
  open.close();
}
