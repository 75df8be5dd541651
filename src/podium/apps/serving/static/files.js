/* Rules as a file: copied, kept, and taken from one. */
import { closable, make, ui } from "./page.js";

/** The dialog of rules.yaml: `text()` gives the file, `use(text)` takes another, `review(text, done)` says what was done with it. */
export class RuleFileDialog {
  constructor({ text, use, review }) {
    Object.assign(this, { text, use, review });
    this.dialog = closable(ui("file"));
    this.area = ui("yaml");
    const actions = { copyText: () => this.copy(this.area.value), download: () => this.download(), useText: () => this.take() };
    for (const [name, run] of Object.entries(actions)) this.dialog.querySelector(`[data-do=${name}]`).addEventListener("click", run);
    ui("open").addEventListener("change", async (event) => {
      const [file] = event.target.files;
      if (file) this.area.value = await file.text();
      event.target.value = "";
    });
  }

  async open() {
    ui("yamlWrong").textContent = ui("yamlTold").textContent = "";
    this.area.value = await this.text();
    this.dialog.showModal();
    this.area.focus();
    this.area.setSelectionRange(0, 0);
    this.area.scrollTop = 0;
  }

  /** Into the clipboard; where the browser has none for this page, by hand. */
  async copy(text) {
    let done = "Copied.";
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      if (!this.dialog.open) await this.open();
      this.area.select();
      if (!document.execCommand("copy")) done = "Press Ctrl+C to copy the text that is marked.";
    }
    await this.review(text, done);
  }

  download() {
    const url = URL.createObjectURL(new Blob([this.area.value], { type: "application/yaml" }));
    make("a", { href: url, download: "rules.yaml" }).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
    this.review(this.area.value, "Downloaded.");
  }

  async take() {
    const wrong = ui("yamlWrong");
    wrong.textContent = "";
    try {
      await this.use(this.area.value);
      this.dialog.close();
    } catch (error) {
      wrong.textContent = error.message;
    }
  }
}
