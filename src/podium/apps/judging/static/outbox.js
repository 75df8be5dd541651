import { kept } from "./shelf.js";

const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 30000;
const ANSWER_TIMEOUT_MS = 20000;
const BATCH = 50;
const DECISIVE = ["judgment", "undo", "skip"]; // kinds of events that change what is asked next

/** How long to wait after so many failures. */
export const retryMs = (failures) => Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10));

/** A new id; crypto.randomUUID exists on secure pages only. */
function newId() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** An answer of the server: its status and what it says; throws when there is none. */
export async function ask(url, token, body) {
  const quit = new AbortController();
  const timer = setTimeout(() => quit.abort(), ANSWER_TIMEOUT_MS);
  const text = body === undefined ? undefined : JSON.stringify(body);
  try {
    const response = await fetch(url, {
      method: text === undefined ? "GET" : "POST",
      headers:
        text === undefined
          ? { Accept: "application/json" }
          : { "Content-Type": "application/json", "X-Podium-Token": token },
      body: text,
      credentials: "same-origin",
      cache: "no-store",
      redirect: "error",
      keepalive: text !== undefined && text.length < 30000, // a closing window still sends it
      signal: quit.signal,
    });
    const said = await response.json().catch(() => ({}));
    return {
      status: response.status,
      said: said !== null && typeof said === "object" ? said : {},
      retryMs: 1000 * Number(response.headers.get("Retry-After") || 0),
    };
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The events of a task that the server has not accepted yet, in order. Each lies under a key of its own, so
 * that two windows of one task do not overwrite each other; both may send it, for the server keeps it once.
 */
export class Outbox {
  constructor(task, token, hooks) {
    this.url = `/api/tasks/${encodeURIComponent(task)}/events`;
    this.prefix = `podium/event/${encodeURIComponent(task)}/`;
    this.refusedPrefix = `podium/refused/${encodeURIComponent(task)}/`;
    this.token = token;
    this.hooks = hooks;
    this.failures = 0;
    this.number = 0;
    this.busy = false;
    this.single = false; // one event at a time, to learn which one is refused
    this.shutOut = false;
    this.retryAt = 0;
    this.timer = 0;
  }

  keys() {
    return kept.keys(this.prefix);
  }

  /** [key, event] pairs, oldest first. */
  pending() {
    return this.keys()
      .map((key) => [key, kept.get(key)])
      .filter(([, event]) => event !== null);
  }

  /** Whether something is under way that changes what is asked next. */
  get decides() {
    return this.pending().some(([, event]) => DECISIVE.includes(event.kind));
  }

  /** How many things that the assessor did are not sent. */
  get unsent() {
    const told = [...DECISIVE, "comment"];
    return this.pending().filter(([, event]) => told.includes(event.kind)).length;
  }

  add(kind, at, data = {}) {
    const last = this.keys().at(-1);
    const number = last ? Number(last.slice(this.prefix.length).split("/")[0]) : 0;
    this.number = Math.max(this.number, number) + 1;
    const event = { id: newId(), kind, at, data };
    kept.set(`${this.prefix}${String(this.number).padStart(9, "0")}/${event.id}`, event);
    this.hooks.changed();
  }

  /** Send all there is, soon. */
  flushIn(ms) {
    if (this.failures) return; // the next try has its time
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), ms);
  }

  /** Send all there is, now, though somebody was signed out: the link may have been opened again. */
  retry() {
    this.shutOut = false;
    return this.flush();
  }

  /** Send all there is, now. */
  async flush() {
    if (this.busy || this.shutOut) return;
    clearTimeout(this.timer);
    this.busy = true;
    this.retryAt = 0;
    try {
      while (await this.round());
    } finally {
      this.busy = false;
      this.hooks.changed();
    }
  }

  /** Send one batch; whether to go on at once. */
  async round() {
    const batch = this.pending().slice(0, this.single ? 1 : BATCH);
    if (!batch.length) return false;
    let answer;
    try {
      answer = await ask(this.url, this.token, { events: batch.map(([, event]) => event) });
    } catch {
      return this.later(0);
    }
    const accepted = new Set(Array.isArray(answer.said.accepted) ? answer.said.accepted : []);
    const done = batch.filter(([, event]) => accepted.has(event.id));
    done.forEach(([key]) => kept.remove(key));
    if (answer.status === 200 && done.length) {
      this.failures = 0;
      if (!this.keys().length) this.single = false;
      this.hooks.answered(answer.said);
      return true;
    }
    if ([400, 409, 413, 422].includes(answer.status)) return this.refused(batch, answer);
    if (answer.status === 401 || answer.status === 403) {
      this.shutOut = true;
      this.hooks.shutOut();
      return false;
    }
    return this.later(answer.retryMs);
  }

  /** The server will not have one of these, ever: find it, put it aside, go on. */
  refused(batch, answer) {
    this.failures = 0;
    if (batch.length > 1) {
      this.single = true;
      return true;
    }
    const [key, event] = batch[0];
    kept.remove(key);
    if (answer.status !== 409) kept.set(`${this.refusedPrefix}${event.id}`, event);
    this.hooks.refused(event, answer);
    return true;
  }

  later(atLeast) {
    const wait = retryMs(this.failures);
    this.failures += 1;
    const ms = Math.max(wait * (0.75 + Math.random() / 2), Math.min(atLeast, LAST_RETRY_MS));
    this.retryAt = Date.now() + ms;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), ms);
    return false;
  }
}
