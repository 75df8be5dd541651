import { refreshLiveParts } from "./live_parts.js";
import { Outbox } from "./outbox.js";
import { uiElement } from "./elements.js";

/** Start the list of tasks: send events that an earlier visit could not send. */
export function startTasks(csrfToken) {
  const net = uiElement("net");
  const outboxes = [];
  const update = () => {
    const unsent = outboxes.reduce((sum, outbox) => sum + outbox.unsent, 0);
    net.hidden = !unsent;
    uiElement("netText").textContent =
      `Not sent yet: ${unsent}. Kept in this browser until the server answers.`;
  };
  const hooks = { onChange: update, onAnswer: update, onRefusal: update, onSignedOut: update };
  for (const row of document.querySelectorAll("[data-task]")) {
    const outbox = new Outbox(row.dataset.task, csrfToken, hooks);
    if (outbox.keys().length) outboxes.push(outbox);
  }
  const flush = () =>
    Promise.all(outboxes.map((outbox) => outbox.retry())).then(() => {
      if (outboxes.length) refreshLiveParts().catch(() => {}); // on failure the page stays as it was
    });
  update();
  flush();
  uiElement("retry").addEventListener("click", flush);
  window.addEventListener("online", flush);
  window.addEventListener("pageshow", (event) => event.persisted && refreshLiveParts().catch(() => {}));
}
