import { ui } from "./page.js";

/** A dialog of the page: the clock stands while it is open. */
export class Sheet {
  constructor(name, clock) {
    this.dialog = ui(name);
    this.dialog.addEventListener("close", () => {
      clock.go(name);
      this.closed?.();
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
