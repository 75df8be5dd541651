import { uiElement } from "./elements.js";

/** A dialog that stops the clock while it is open; `onClose` runs when it closes. */
export class TimedDialog {
  constructor(name, clock) {
    this.dialog = uiElement(name);
    this.dialog.addEventListener("close", () => {
      clock.resume(name);
      this.onClose?.();
    });
    this.open = () => {
      if (document.querySelector("dialog[open]")) return false;
      clock.stop(name);
      this.dialog.showModal();
      return true;
    };
    this.close = () => this.dialog.close();
    for (const button of this.dialog.querySelectorAll("[data-close]"))
      button.addEventListener("click", this.close);
  }
}
