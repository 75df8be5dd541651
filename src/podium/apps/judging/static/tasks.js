import { freshen } from "./fresh.js";
import { Outbox } from "./outbox.js";
import { ui } from "./page.js";

/** The list of tasks: send what an earlier visit could not. */
export function startTasks(token) {
  const net = ui("net");
  const boxes = [];
  const changed = () => {
    const unsent = boxes.reduce((sum, box) => sum + box.unsent, 0);
    net.hidden = !unsent;
    ui("netText").textContent =
      `Not sent yet: ${unsent}. Kept in this browser until the server answers.`;
  };
  const hooks = { changed, answered: changed, refused: changed, shutOut: changed };
  for (const row of document.querySelectorAll("[data-task]")) {
    const box = new Outbox(row.dataset.task, token, hooks);
    if (box.keys().length) boxes.push(box);
  }
  const flush = () =>
    Promise.all(boxes.map((box) => box.retry())).then(() => {
      if (boxes.length) freshen().catch(() => {}); // it says how it was
    });
  changed();
  flush();
  ui("retry").addEventListener("click", flush);
  window.addEventListener("online", flush);
  window.addEventListener("pageshow", (event) => event.persisted && freshen().catch(() => {}));
}
