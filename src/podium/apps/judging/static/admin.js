import { freshen } from "./fresh.js";
import { ui } from "./page.js";

const ADMIN_MS = 10000;

/** The admin's page: its parts anew every few seconds, while somebody looks. */
export function startAdmin() {
  const [live, text] = [ui("live"), ui("liveText")];
  async function refresh() {
    if (!live.checked || document.hidden) return;
    try {
      await freshen();
      text.textContent = "";
    } catch {
      text.textContent = "The server does not answer: these numbers are old.";
    }
  }
  setInterval(refresh, ADMIN_MS);
  document.addEventListener("visibilitychange", refresh);
  live.addEventListener("change", refresh);
}
