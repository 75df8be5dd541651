const ACTIONS = {
  ArrowLeft: "left", ArrowRight: "right", 1: "left", 2: "right", t: "tie", b: "bad", u: "undo", p: "pause",
  c: "comment", s: "later", g: "guidelines", "?": "help",
};
const PAIR_ACTIONS = ["left", "right", "tie", "bad"];

/** Keys run actions of the page or close a dialog; `letters()` tells whether letter keys are on. */
export function listenToKeys({ actions, dialogs, grades, letters }) {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    const open = document.querySelector("dialog[open]");
    if (open) handleDialogKey(event, open, dialogs);
    else handlePageKey(event, actions, grades(), letters());
  });
}

function handlePageKey(event, actions, grades, letters) {
  if (event.repeat || event.target.closest("input, textarea, select, [contenteditable]")) return;
  if (event.key.length === 1 && event.key !== "?" && !letters) return;
  if (grades && /^[1-9]$/.test(event.key)) {
    grades[Number(event.key) - 1]?.click();
    return;
  }
  const name = ACTIONS[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!name || (grades && PAIR_ACTIONS.includes(name))) return;
  event.preventDefault();
  actions[name]();
}

/** Any key closes the idle dialog, P the pause, G the guidelines, ? the help; none of these keys is an answer. */
function handleDialogKey(event, open, { idle, paused, help, guidelines }) {
  if (event.repeat || ["Tab", "Shift", "Escape"].includes(event.key)) return;
  const closes =
    open === idle.dialog ||
    (open === paused.dialog && event.key.toLowerCase() === "p") ||
    (open === guidelines.dialog && event.key.toLowerCase() === "g") ||
    (open === help.dialog && event.key === "?");
  if (!closes) return;
  event.preventDefault();
  open.close();
}
