"use strict";
/*
 * The judging pages. A judgment is written down in the browser before it is sent, under an id made here,
 * and stays until the server has accepted it: sending it again is always safe, for the server keeps each id
 * once. The server alone decides what is asked next; the page shows it.
 */
(() => {
  const FIRST_RETRY_MS = 500;
  const LAST_RETRY_MS = 30000;
  const ANSWER_TIMEOUT_MS = 20000;
  const ADMIN_MS = 10000;
  const BATCH = 50;
  const SHOWN_MS = 2000; // what was shown may wait for a judgment to travel with
  const DOUBLE_CLICK_MS = 250; // the second click of a double one is no judgment of the next question
  const DECISIVE = ["judgment", "undo", "skip"]; // kinds of events that change what is asked next

  /** A new id; crypto.randomUUID exists on secure pages only. */
  function newId() {
    if (crypto.randomUUID) return crypto.randomUUID();
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  /** An element of the page by its data-ui, which no document can carry. */
  const ui = (name) => document.querySelector(`[data-ui="${name}"]`);

  const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

  /** An element with a class and a text. */
  function element(tag, className = "", text = "") {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== "") made.textContent = text;
    return made;
  }

  /** What the browser keeps; in memory only, where it keeps nothing. */
  class Shelf {
    constructor(area) {
      this.memory = new Map();
      try {
        this.area = window[area];
        this.area.getItem("podium");
      } catch {
        this.area = null;
      }
    }

    get safe() {
      return this.area !== null && this.memory.size === 0;
    }

    keys(prefix) {
      const kept = this.area ? Object.keys(this.area) : [];
      return [...kept, ...this.memory.keys()].filter((key) => key.startsWith(prefix)).sort();
    }

    get(key) {
      const text = this.memory.get(key) ?? this.area?.getItem(key);
      try {
        return text ? JSON.parse(text) : null;
      } catch {
        return null;
      }
    }

    set(key, value) {
      const text = JSON.stringify(value);
      try {
        this.area.setItem(key, text);
        this.memory.delete(key);
      } catch {
        this.memory.set(key, text); // no storage, or a full one
      }
    }

    remove(key) {
      this.memory.delete(key);
      this.area?.removeItem(key);
    }
  }

  const kept = new Shelf("localStorage"); // for all windows and for good
  const tab = new Shelf("sessionStorage"); // for this window, across reloads

  /**
   * The active time of one judgment, in segments. The clock runs while there is no reason to stand still:
   * waiting for the server, a pause, a hidden tab, idleness and a dialog are such reasons.
   */
  class Clock {
    constructor() {
      this.reasons = new Set(["waiting"]);
      this.segments = [];
      this.start = 0;
      this.last = 0;
      this.set();
    }

    /** Follow the wall clock, but never back. */
    set() {
      this.base = Math.max(Date.now(), this.last) - performance.now();
    }

    /** Milliseconds since 1970; within a segment they are monotonic, whatever the wall clock does. */
    now() {
      this.last = Math.max(this.last, Math.round(this.base + performance.now()));
      return this.last;
    }

    get running() {
      return this.reasons.size === 0;
    }

    stop(reason, at = this.now()) {
      if (this.running) this.close(at);
      this.reasons.add(reason);
    }

    go(reason) {
      const stood = !this.running;
      this.reasons.delete(reason);
      if (stood && this.running) {
        this.set();
        this.start = this.now();
      }
    }

    close(at) {
      const end = Math.min(at, this.now());
      if (end > this.start) this.segments.push([this.start, end]);
    }

    /** All segments, with the one that is open. */
    taken() {
      const end = this.now();
      const open = this.running && end > this.start ? [[this.start, end]] : [];
      return [...this.segments, ...open];
    }

    /** All segments; the clock stands and begins anew. */
    take() {
      this.stop("waiting");
      const segments = this.segments;
      this.segments = [];
      return segments;
    }

    get milliseconds() {
      return this.taken().reduce((sum, [start, end]) => sum + end - start, 0);
    }
  }

  /** An answer of the server: its status and what it says; throws when there is none. */
  async function ask(url, token, body) {
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
  class Outbox {
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
      if (event.kind === "judgment") this.dropUndo();
      this.hooks.refused(event, answer);
      return true;
    }

    /** An undo meant the judgment before it; without that one it would take back another. */
    dropUndo() {
      const [next] = this.pending();
      if (next && next[1].kind === "undo") kept.remove(next[0]);
    }

    later(atLeast) {
      const wait = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(this.failures, 10));
      this.failures += 1;
      const ms = Math.max(wait * (0.75 + Math.random() / 2), Math.min(atLeast, LAST_RETRY_MS));
      this.retryAt = Date.now() + ms;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.flush(), ms);
      return false;
    }
  }

  /** A dialog of the page: the clock stands while it is open. */
  class Sheet {
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

  /** One task: what is asked, and what the assessor does about it. */
  class JudgePage {
    constructor(main, token) {
      this.id = main.dataset.task;
      this.token = token;
      this.url = `/api/tasks/${encodeURIComponent(this.id)}`;
      this.memo = `podium/clock/${encodeURIComponent(this.id)}`;
      this.parts = {};
      for (const part of document.querySelectorAll("[data-ui]"))
        this.parts[part.dataset.ui] = part;
      this.task = null;
      this.step = null;
      this.progress = { done: 0, remaining: 0 };
      this.asking = false;
      this.toldShown = null;
      this.version = 0; // of what is asked: a late answer about an older one is not followed
      this.idleMs = 60000;
      this.loadFailures = 0;
      this.alive = 0; // when there was a sign of life
      this.clock = new Clock();
      this.outbox = new Outbox(this.id, token, {
        changed: () => this.update(),
        answered: (said) => this.follow(said),
        refused: (event, answer) => this.refused(event, answer),
        shutOut: () => this.shutOut(),
      });
      this.paused = new Sheet("paused", this.clock);
      this.idle = new Sheet("idle", this.clock);
      this.help = new Sheet("help", this.clock);
      this.comment = new Sheet("comment", this.clock);
      this.listen();
    }

    start() {
      if (document.hidden) this.clock.stop("hidden");
      this.update();
      this.outbox.flush().then(() => this.load());
      setInterval(() => this.tick(), 1000);
    }

    // What the server says.

    async load() {
      const version = this.version;
      let answer;
      try {
        answer = await ask(this.url, this.token);
      } catch {
        return this.loadLater();
      }
      if (answer.status === 401 || answer.status === 403) return this.shutOut();
      if (answer.status !== 200) return this.loadLater();
      this.loadFailures = 0;
      if (!this.task) this.meet(answer.said.task);
      if (version === this.version) this.follow(answer.said);
      return this.update();
    }

    loadLater() {
      const wait = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(this.loadFailures, 10));
      this.loadFailures += 1;
      clearTimeout(this.loadTimer);
      this.loadTimer = setTimeout(() => this.load(), wait);
      this.update();
    }

    /** The task as such, once. */
    meet(task) {
      this.task = task;
      const graded = task.kind === "grade";
      document.body.classList.toggle("is-grade", graded);
      this.parts.pair.hidden = graded;
      this.parts.single.hidden = !graded;
      this.parts.preferences.hidden = graded;
      this.parts.grades.hidden = !graded;
      this.parts.later.hidden = !graded;
      for (const part of document.querySelectorAll("[data-for]"))
        part.hidden = part.dataset.for !== task.kind;
      if (graded) this.makeGrades(task.grades);
    }

    makeGrades(names) {
      const buttons = names.map((name, grade) => {
        const button = element("button", "answer grade");
        button.type = "button";
        button.dataset.grade = grade;
        if (grade < 9) button.append(element("kbd", "", String(grade + 1)));
        button.append(element("span", "", name));
        button.addEventListener("click", () => this.judge({ grade }, button));
        return button;
      });
      this.parts.grades.replaceChildren(...buttons);
    }

    /** Show what is asked now, unless something under way will change it. */
    follow(said) {
      if (!said.step || !this.task || this.outbox.decides) return;
      this.version += 1;
      if (said.progress) this.progress = said.progress;
      if (said.idle_seconds > 0) this.idleMs = 1000 * said.idle_seconds;
      const known = this.step && this.step.question === said.step.question;
      const stays = known && this.step.kind === said.step.kind && (this.asking || said.step.kind === "done");
      if (this.asking && !stays) {
        this.clock.take();
        this.notice("This question was answered in another window. Here is the next one.");
      }
      this.step = said.step;
      if (!stays) this.show();
      this.update();
    }

    show() {
      const { step } = this;
      const done = step.kind === "done";
      this.asking = !done;
      this.parts.work.hidden = done;
      this.parts.bar.hidden = done;
      this.parts.done.hidden = !done;
      if (step.kind === "question") {
        this.fill(this.parts.left, step.left);
        this.fill(this.parts.right, step.right);
      } else if (step.kind === "document") {
        this.fill(this.parts.document, step.document);
      }
      window.scrollTo(0, 0);
      if (done) {
        this.finish();
        return;
      }
      for (const part of document.querySelectorAll(".is-chosen")) part.classList.remove("is-chosen");
      this.parts.query.focus({ preventScroll: true });
      const memo = tab.get(this.memo);
      const same = memo !== null && memo.question === step.question;
      this.clock.segments = same ? memo.segments : [];
      if (same && memo.paused) this.paused.open();
      this.shownAt = performance.now();
      this.clock.go("waiting");
      this.awake();
      this.tellShown();
    }

    /** A document into its place. */
    fill(place, shown) {
      const [title, body] = [place.querySelector("[data-title]"), place.querySelector("[data-body]")];
      if (shown.title_html === undefined) title.textContent = shown.title || "";
      else title.innerHTML = shown.title_html; // the title, escaped, with the query's words marked
      title.hidden = !shown.title;
      if (shown.image) {
        const image = element("img");
        image.alt = shown.title || "The document, an image";
        image.addEventListener("error", () =>
          body.replaceChildren(element("p", "missing", "This image could not be loaded.")),
        );
        image.src = shown.image;
        body.replaceChildren(image);
        return;
      }
      if (shown.html === undefined) body.textContent = shown.text || "";
      else body.innerHTML = shown.html; // sanitised by the server; the page's policy runs no script in it
      for (const link of body.querySelectorAll("a[href]")) {
        link.target = "_blank";
        link.rel = "noopener noreferrer nofollow";
      }
      if (!body.textContent.trim() && !body.querySelector("img"))
        body.replaceChildren(element("p", "missing", "This document is empty."));
    }

    finish() {
      tab.remove(this.memo);
      const graded = this.task.kind === "grade";
      this.parts.doneText.textContent =
        `You judged ${plural(this.progress.done, graded ? "document" : "pair")}, and all of it is kept. ` +
        (graded ? "Your grades:" : "The best, as you see it:");
      this.parts.result.replaceChildren(...this.result());
      this.parts.doneTitle.focus({ preventScroll: true });
    }

    /** The top k, tied documents in one line, or the documents by grade. */
    result() {
      const name = (shown) => shown.title || shown.id;
      if (this.step.levels)
        return this.step.levels.map((level) => element("li", "", level.map(name).join(" = ")));
      const graded = [...(this.step.graded || [])].sort((one, other) => other.grade - one.grade);
      return graded.map((shown) => {
        const line = element("li", "", `${name(shown)} `);
        line.append(element("small", "", this.task.grades[shown.grade]));
        return line;
      });
    }

    refused(event, answer) {
      if (answer.status !== 409)
        this.notice(
          `The server did not accept a ${event.kind}: ${answer.said.error?.message || `error ${answer.status}`}. ` +
            "It is kept in this browser; please tell who runs the judging.",
        );
      else if (event.kind === "judgment")
        this.notice("This question was answered already. Here is the one that is asked now.");
      if (answer.said.step) this.follow(answer.said);
      else this.load();
    }

    shutOut() {
      this.asking = false;
      this.clock.stop("waiting");
      this.parts.shutOut.hidden = false;
      this.update();
    }

    // What the assessor does.

    /** Whether an answer counts now. */
    get ready() {
      return this.asking && performance.now() - this.shownAt > DOUBLE_CLICK_MS;
    }

    judge(answer, ...chosen) {
      if (!this.ready || !this.clock.running) return;
      chosen.forEach((part) => part.classList.add("is-chosen"));
      this.decide("judgment", { question: this.step.question, ...answer });
    }

    later() {
      if (this.ready && this.task.kind === "grade")
        this.decide("skip", { question: this.step.question });
    }

    undo() {
      if (this.canUndo) this.decide("undo", { steps: 1 });
    }

    get canUndo() {
      const kinds = this.outbox.pending().map(([, event]) => event.kind);
      if (!this.task || kinds.includes("undo")) return false;
      return this.progress.done > 0 || kinds.includes("judgment");
    }

    /** Write an event down that changes what is asked; the clock stands until the server says what. */
    decide(kind, data) {
      const segments = this.clock.take();
      tab.remove(this.memo);
      this.asking = false;
      this.version += 1;
      this.notice("");
      this.outbox.add(kind, this.clock.now(), { ...data, segments });
      this.outbox.flush();
    }

    pause() {
      if (!this.asking || !this.paused.open()) return;
      this.outbox.add("pause", this.clock.now());
      this.remember();
      this.outbox.flush();
    }

    resume() {
      const { clock, outbox } = this;
      outbox.add("resume", clock.running ? clock.start : clock.now());
      this.remember();
      this.awake();
      outbox.flushIn(SHOWN_MS);
    }

    say() {
      const text = this.parts.commentText.value.trim();
      if (!text) return;
      const question = this.step && this.step.question;
      this.outbox.add("comment", this.clock.now(), { text, ...(question ? { question } : {}) });
      this.parts.commentText.value = "";
      this.outbox.flush();
      this.notice("Your comment is written down.");
    }

    tellShown() {
      if (!this.asking || document.hidden || this.toldShown === this.step) return;
      this.toldShown = this.step;
      this.outbox.add("shown", this.clock.now(), { question: this.step.question });
      this.outbox.flushIn(SHOWN_MS);
    }

    // The clock's reasons.

    /** A sign of life. */
    awake() {
      if (!this.clock.running) return;
      const now = this.clock.now();
      if (now - Math.max(this.alive, this.clock.start) > this.idleMs) {
        this.fallAsleep(); // the timer is late: the machine slept
        return;
      }
      this.alive = now;
      if (!this.idleTimer) this.watch(this.idleMs);
    }

    watch(ms) {
      clearTimeout(this.idleTimer);
      this.idleTimer = setTimeout(() => {
        this.idleTimer = 0;
        if (!this.clock.running) return;
        const left = Math.max(this.alive, this.clock.start) + this.idleMs - this.clock.now();
        if (left > 0) this.watch(left);
        else this.fallAsleep();
      }, ms);
    }

    /** The time that may have been reading counts, no more. */
    fallAsleep() {
      this.clock.stop("idle", Math.max(this.alive, this.clock.start) + this.idleMs);
      if (!this.idle.open()) this.clock.go("idle");
    }

    visibility() {
      if (document.hidden) {
        this.clock.stop("hidden");
        this.remember();
        return;
      }
      this.clock.go("hidden");
      this.awake();
      this.tellShown();
      this.outbox.flush();
      if (!this.outbox.busy) this.load();
    }

    /** Keep the time of the open question for a reload. */
    remember() {
      if (!this.asking) return;
      tab.set(this.memo, {
        question: this.step.question,
        segments: this.clock.taken(),
        paused: this.paused.dialog.open,
      });
    }

    tick() {
      this.remember();
      this.update();
    }

    // What is on the page.

    notice(text) {
      this.parts.notice.textContent = text;
      this.parts.notice.hidden = !text;
    }

    update() {
      const { parts, outbox } = this;
      const { done, remaining } = this.progress;
      if (this.task) {
        const about = Math.ceil(remaining);
        const left = this.task.kind === "grade" ? `${about} to go` : `about ${about} to go`;
        const text = `${done} judged, ${about > 0 ? left : "nothing to go"}`;
        if (parts.progressText.textContent !== text) parts.progressText.textContent = text;
        parts.progress.max = Math.max(done + remaining, 1);
        parts.progress.value = done;
      }
      const seconds = Math.floor(this.clock.milliseconds / 1000);
      parts.clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
      parts.clock.classList.toggle("is-still", !this.clock.running);
      for (const button of document.querySelectorAll(".answer, [data-do=pause], [data-do=later]"))
        button.disabled = !this.asking;
      for (const button of document.querySelectorAll("[data-do=undo]"))
        button.disabled = !this.canUndo;
      parts.work.setAttribute("aria-busy", String(!this.asking));
      this.updateNet(outbox.unsent);
    }

    updateNet(unsent) {
      const { parts, outbox } = this;
      const failing = outbox.failures > 0 || this.loadFailures > 0;
      parts.net.hidden = this.outbox.shutOut || !(failing || (unsent && !kept.safe));
      if (parts.net.hidden) return;
      const what = unsent ? `Not sent yet: ${unsent}. ` : "The server does not answer. ";
      const where = kept.safe
        ? "Kept in this browser until it is."
        : "Do not close this window: the browser keeps nothing.";
      const wait = Math.ceil((outbox.retryAt - Date.now()) / 1000);
      parts.netText.textContent = what + (unsent ? where : "");
      parts.netWhen.textContent = wait > 0 ? `Next try in ${wait} s.` : "Trying now.";
    }

    // Keys and buttons.

    get actions() {
      const { left, right } = this.parts;
      return {
        left: () => this.judge({ answer: "left" }, left),
        right: () => this.judge({ answer: "right" }, right),
        tie: () => this.judge({ answer: "tie" }, left, right),
        bad: () => this.judge({ answer: "bad" }),
        undo: () => this.undo(),
        later: () => this.later(),
        pause: () => this.pause(),
        comment: () => this.comment.open() && this.parts.commentText.focus(),
        help: () => this.help.open(),
        retry: () => this.retry(),
      };
    }

    retry() {
      this.outbox.flush().then(() => this.load());
    }

    listen() {
      const { actions } = this;
      for (const button of document.querySelectorAll("[data-do]"))
        button.addEventListener("click", () => actions[button.dataset.do]());
      document.addEventListener("keydown", (event) => this.key(event, actions));
      document.addEventListener("visibilitychange", () => this.visibility());
      for (const sign of ["keydown", "pointermove", "pointerdown", "wheel", "scroll", "touchmove"])
        document.addEventListener(sign, () => this.awake(), { passive: true, capture: true });
      this.paused.closed = () => this.resume();
      this.idle.closed = () => this.awake();
      this.help.closed = this.comment.closed = () => this.awake();
      this.parts.commentForm.addEventListener("submit", (event) => {
        event.preventDefault();
        this.say();
        this.comment.close();
      });
      this.parts.commentText.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
          event.preventDefault();
          this.parts.commentForm.requestSubmit();
        }
      });
      this.parts.useKeys.checked = kept.get("podium/keys") !== false;
      this.parts.useKeys.addEventListener("change", () =>
        kept.set("podium/keys", this.parts.useKeys.checked),
      );
      window.addEventListener("online", () => this.retry());
      window.addEventListener("pagehide", () => this.remember());
      window.addEventListener("pageshow", (event) => event.persisted && this.retry());
      window.addEventListener("storage", (event) => {
        if (!event.key || !event.key.startsWith(this.outbox.prefix)) return;
        this.update();
        if (event.newValue === null && !document.hidden && !this.outbox.busy) this.load();
      });
    }

    key(event, actions) {
      if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
      const open = document.querySelector("dialog[open]");
      if (open) {
        this.keyInDialog(event, open);
        return;
      }
      if (event.repeat || event.target.closest("input, textarea, select, [contenteditable]")) return;
      const name = {
        ArrowLeft: "left", ArrowRight: "right", 1: "left", 2: "right", t: "tie", b: "bad", u: "undo", p: "pause",
        c: "comment", s: "later", "?": "help",
      }[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (event.key.length === 1 && event.key !== "?" && !this.parts.useKeys.checked) return;
      const graded = this.task && this.task.kind === "grade";
      if (graded && /^[1-9]$/.test(event.key)) {
        const button = this.parts.grades.children[Number(event.key) - 1];
        if (button) button.click();
        return;
      }
      if (!name || (graded && ["left", "right", "tie", "bad"].includes(name))) return;
      event.preventDefault();
      actions[name]();
    }

    /** Any key ends idleness, P a pause, ? the help; none of them is an answer. */
    keyInDialog(event, open) {
      if (event.repeat || ["Tab", "Shift", "Escape"].includes(event.key)) return;
      const ends =
        open === this.idle.dialog ||
        (open === this.paused.dialog && event.key.toLowerCase() === "p") ||
        (open === this.help.dialog && event.key === "?");
      if (!ends) return;
      event.preventDefault();
      open.close();
    }
  }

  /** The live parts of this page, as the server has them now; no reload, which could break off a click. */
  async function freshen() {
    const response = await fetch(location.pathname, { cache: "no-store", redirect: "error" });
    if (!response.ok) throw new Error(`status ${response.status}`);
    const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const part of document.querySelectorAll("[data-live]")) {
      const now = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
      const used = part.contains(document.activeElement); // the focus stays where it is
      if (now && !used && now.innerHTML !== part.innerHTML)
        part.replaceChildren(...document.adoptNode(now).childNodes);
    }
  }

  /** The list of tasks: send what an earlier visit could not. */
  function startTasks(token) {
    const net = ui("net");
    const boxes = [];
    const changed = () => {
      const unsent = boxes.reduce((sum, box) => sum + box.unsent, 0);
      net.hidden = !unsent;
      ui("netText").textContent = `Not sent yet: ${unsent}. Kept in this browser until it is.`;
    };
    const hooks = { changed, answered: changed, refused: changed, shutOut: changed };
    for (const row of document.querySelectorAll("[data-task]")) {
      const box = new Outbox(row.dataset.task, token, hooks);
      if (box.keys().length) boxes.push(box);
    }
    const flush = () =>
      Promise.all(boxes.map((box) => box.flush())).then(() => {
        if (boxes.length) freshen().catch(() => {}); // it says how it was
      });
    changed();
    flush();
    ui("retry").addEventListener("click", flush);
    window.addEventListener("online", flush);
    window.addEventListener("pageshow", (event) => event.persisted && freshen().catch(() => {}));
  }

  /** The admin's page: its parts anew every few seconds, while somebody looks. */
  function startAdmin() {
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

  const main = document.querySelector("main");
  const token = document.querySelector('meta[name="podium-token"]')?.content ?? "";
  const page = main.dataset.page;
  if (page === "judge") new JudgePage(main, token).start();
  else if (page === "tasks") startTasks(token);
  else if (page === "admin") startAdmin();
})();
