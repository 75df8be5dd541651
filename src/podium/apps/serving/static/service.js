import { saveToTab, loadFromTab } from "./tab_storage.js";
import { ui } from "./page.js";

/** An error of the service. */
export class Refused extends Error {
  constructor(status, told) {
    super(told.message);
    this.status = status;
    this.told = told;
  }
}

/** The service: asks the user for a token if it is needed, and keeps it while the tab is open. */
export class Service {
  constructor() {
    this.token = loadFromTab("token") ?? "";
    this.asking = null;
    ui("token").addEventListener("cancel", (event) => event.preventDefault());
  }

  /** The answer to a GET, or with a body to a POST. */
  async ask(path, body, signal) {
    const used = this.token;
    const response = await this.send(path, body, signal);
    if (response.status === 401) {
      await response.body?.cancel();
      // An answer to an older token may come after the next one was typed: that one is tried first.
      if (used === this.token) await this.askForToken();
      return this.ask(path, body, signal);
    }
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return answer;
    throw new Refused(response.status, answer.error ?? { code: "failed", message: response.statusText });
  }

  async send(path, body, signal) {
    const own = path.startsWith("/v1/editing") ? { "X-Podium-Editing": "1" } : {}; // a proxy may know the user
    const headers = this.token ? { ...own, Authorization: `Bearer ${this.token}` } : own;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const method = body === undefined ? "GET" : "POST";
    try {
      return await fetch(path, { method, headers, signal, body: body && JSON.stringify(body) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Refused(0, { code: "unreachable", message: "the service does not answer" });
    }
  }

  /** One dialog, however many requests wait for it. */
  askForToken() {
    this.asking ??= new Promise((resolve) => {
      const [dialog, text, wrong] = [ui("token"), ui("tokenText"), ui("tokenWrong")];
      wrong.textContent = this.token ? "That was not the token." : "";
      text.value = "";
      dialog.addEventListener(
        "close",
        () => {
          // A header takes no more than ASCII; no token has more.
          this.token = text.value.trim().replace(/[^\x20-\x7e]/g, "");
          saveToTab("token", this.token);
          this.asking = null;
          resolve();
        },
        { once: true },
      );
      dialog.showModal();
    });
    return this.asking;
  }
}

/** A request of which only the last one counts: a new one cancels the one before, and `stop()` cancels the last. */
export function lastOnly(ask) {
  let current = null;
  const last = async (...given) => {
    current?.abort();
    const mine = (current = new AbortController());
    try {
      const answer = await ask(mine.signal, ...given);
      return mine === current ? answer : undefined;
    } catch (error) {
      if (mine !== current || error.name === "AbortError") return undefined;
      throw error;
    }
  };
  last.stop = () => {
    current?.abort();
    current = null;
  };
  return last;
}
