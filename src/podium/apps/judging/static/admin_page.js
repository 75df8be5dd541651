import { refreshLiveParts } from "./live_parts.js";
import { uiElement } from "./elements.js";

const REFRESH_MS = 10000;

/** Start the admin's page: refresh its live parts every few seconds while it is visible. */
export function startAdmin() {
  const [live, text] = [uiElement("live"), uiElement("liveText")];
  async function refresh() {
    if (!live.checked || document.hidden) return;
    try {
      await refreshLiveParts();
      text.textContent = "";
    } catch {
      text.textContent = "The server does not answer: these numbers are old.";
    }
  }
  setInterval(refresh, REFRESH_MS);
  document.addEventListener("visibilitychange", refresh);
  live.addEventListener("change", refresh);
}
