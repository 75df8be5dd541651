import { browserStore } from "./browser_storage.js";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30000;
const ANSWER_TIMEOUT_MS = 20000;
const EVENTS_PER_REQUEST = 50;
const DECISIVE_KINDS = ["judgment", "undo", "skip"]; // kinds of events that change what is asked next

/** Return how long to wait after so many failures. */
export const retryMs = (failures) => Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10));

/** Return a new id; crypto.randomUUID exists on secure pages only. */
function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Send a request; return the status and the JSON of the answer; throws if there is none. */
export async function sendRequest(url, csrfToken, body) {
  const quit = new AbortController();
  const timer = setTimeout(() => quit.abort(), ANSWER_TIMEOUT_MS);
  const text = body === undefined ? undefined : JSON.stringify(body);
  try {
    const response = await fetch(url, {
      method: text === undefined ? "GET" : "POST",
      headers:
        text === undefined
          ? { Accept: "application/json" }
          : { "Content-Type": "application/json", "X-Podium-Token": csrfToken },
      body: text,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      keepalive: text !== undefined && text.length < 30000, // a closing window still sends it
      signal: quit.signal,
    });
    const json = await response.json().catch(() => ({}));
    return {
      status: response.status,
      json: json !== null && typeof json === "object" ? json : {},
      retryMs: 1000 * Number(response.headers.get("Retry-After") || 0),
    };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The events of a task that the server has not accepted yet, in order. Each has a key of its own, so that two
 * windows of one task do not overwrite each other. Both may send it, for the server stores it once.
 */
export class Outbox {
  constructor(task, csrfToken, hooks) {
    this.url = `/api/tasks/${encodeURIComponent(task)}/events`;
    this.prefix = `podium/event/${encodeURIComponent(task)}/`;
    this.refusedPrefix = `podium/refused/${encodeURIComponent(task)}/`;
    this.csrfToken = csrfToken;
    this.hooks = hooks;
    this.failures = 0;
    this.number = 0;
    this.busy = false;
    this.oneByOne = false; // to learn which event is refused
    this.isSignedOut = false;
    this.retryAt = 0;
    this.timer = 0;
  }

  keys() {
    return browserStore.keys(this.prefix);
  }

  /** [key, event] pairs, oldest first. */
  pending() {
    return this.keys()
      .map((key) => [key, browserStore.get(key)])
      .filter(([, event]) => event !== null);
  }

  /** Whether an unsent event will change the next question. */
  get hasDecision() {
    return this.pending().some(([, event]) => DECISIVE_KINDS.includes(event.kind));
  }

  /** How many judgments, undos, skips and comments are not sent. */
  get unsent() {
    const kinds = [...DECISIVE_KINDS, "comment"];
    return this.pending().filter(([, event]) => kinds.includes(event.kind)).length;
  }

  add(kind, at, data = {}) {
    const last = this.keys().at(-1);
    const number = last ? Number(last.slice(this.prefix.length).split("/")[0]) : 0;
    this.number = Math.max(this.number, number) + 1;
    const event = { id: newId(), kind, at, data };
    browserStore.set(`${this.prefix}${String(this.number).padStart(9, "0")}/${event.id}`, event);
    this.hooks.onChange();
  }

  /** Send all events after a while. */
  flushIn(ms) {
    if (this.failures) return; // the next try is scheduled already
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), ms);
  }

  /** Send all events now, also if signed out: the link may have been opened again. */
  retry() {
    this.isSignedOut = false;
    return this.flush();
  }

  /** Send all events now. */
  async flush() {
    if (this.busy || this.isSignedOut) return;
    clearTimeout(this.timer);
    this.busy = true;
    this.retryAt = 0;
    try {
      while (await this.sendBatch());
    } finally {
      this.busy = false;
      this.hooks.onChange();
    }
  }

  /** Send one batch; return whether to go on at once. */
  async sendBatch() {
    const batch = this.pending().slice(0, this.oneByOne ? 1 : EVENTS_PER_REQUEST);
    if (!batch.length) return false;
    let answer;
    try {
      answer = await sendRequest(this.url, this.csrfToken, { events: batch.map(([, event]) => event) });
    } catch {
      return this.retryLater(0);
    }
    const accepted = new Set(Array.isArray(answer.json.accepted) ? answer.json.accepted : []);
    const done = batch.filter(([, event]) => accepted.has(event.id));
    done.forEach(([key]) => browserStore.remove(key));
    if (answer.status === 200 && done.length) {
      this.failures = 0;
      if (!this.keys().length) this.oneByOne = false;
      this.hooks.onAnswer(answer.json);
      return true;
    }
    if ([400, 409, 413, 422].includes(answer.status)) return this.handleRefusal(batch, answer);
    if (answer.status === 401 || answer.status === 403) {
      this.isSignedOut = true;
      this.hooks.onSignedOut();
      return false;
    }
    return this.retryLater(answer.retryMs);
  }

  /** The server never accepts one of these events: find it, set it aside, go on. */
  handleRefusal(batch, answer) {
    this.failures = 0;
    if (batch.length > 1) {
      this.oneByOne = true;
      return true;
    }
    const [key, event] = batch[0];
    browserStore.remove(key);
    if (answer.status !== 409) browserStore.set(`${this.refusedPrefix}${event.id}`, event);
    this.hooks.onRefusal(event, answer);
    return true;
  }

  retryLater(atLeast) {
    const wait = retryMs(this.failures);
    this.failures += 1;
    const ms = Math.max(wait * (0.75 + Math.random() / 2), Math.min(atLeast, LAST_RETRY_MS));
    this.retryAt = Date.now() + ms;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), ms);
    return false;
  }
}
