import { browserStore } from "./browser_storage.js";
import { uiElement } from "./elements.js";
import { refreshLiveParts } from "./live_parts.js";

const READ_KEY = "podium/guidelines"; // which guidelines this browser has shown

/** The guidelines of the page: a dialog that opens by itself until it was read. */
export class GuidelinesDialog {
  constructor(dialog, { onChange }) {
    this.dialog = dialog;
    this.onChange = onChange;
    this.refreshing = false;
  }

  get element() {
    return uiElement("guidelinesText");
  }

  get version() {
    return Number(this.element.dataset.version);
  }

  /** What each grade means, by its name. */
  get definitions() {
    const definitions = [...this.element.querySelectorAll("[data-grade]")];
    return Object.fromEntries(definitions.map((part) => [part.dataset.grade, part.textContent]));
  }

  /** Open the dialog if this browser has not shown these guidelines yet. */
  openIfNew() {
    const { id } = this.element.dataset;
    if (!this.version || !this.element.textContent.trim() || browserStore.get(READ_KEY) === id) return;
    if (this.dialog.open()) browserStore.set(READ_KEY, id);
  }

  /** Load the guidelines again if the server has a newer version. */
  async follow(version) {
    if (!(version > this.version) || this.refreshing) return;
    this.refreshing = true;
    try {
      await refreshLiveParts();
      this.onChange();
      this.openIfNew();
    } catch {
      // The next answer of the server tries again.
    } finally {
      this.refreshing = false;
    }
  }
}
