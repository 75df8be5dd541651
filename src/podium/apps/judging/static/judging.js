import { Clock } from "./clock.js";
import { listenToKeys } from "./keys.js";
import { ask, Outbox, retryMs } from "./outbox.js";
import { Presence } from "./presence.js";
import { Sheet } from "./sheet.js";
import { kept, tab } from "./shelf.js";
import { View } from "./view.js";

const SHOWN_MS = 2000; // what was shown may wait for a judgment to travel with
const DOUBLE_CLICK_MS = 250; // the second click of a double one is no judgment of the next question

/** One task: what is asked, and what the assessor does about it. */
export class JudgePage {
  constructor(main, token) {
    this.id = main.dataset.task;
    this.token = token;
    this.url = `/api/tasks/${encodeURIComponent(this.id)}`;
    this.memo = `podium/clock/${encodeURIComponent(this.id)}`;
    this.view = new View();
    this.parts = this.view.parts;
    this.task = null;
    this.step = null;
    this.progress = { done: 0, remaining: 0 };
    this.last = null; // the id of the last judgment that the server knows of
    this.asking = false;
    this.toldShown = null;
    this.lost = new Set(); // ids of judgments that came too late
    this.version = 0; // of what is asked: a late answer about an older one is not followed
    this.loadFailures = 0;
    this.clock = new Clock();
    this.outbox = new Outbox(this.id, token, {
      changed: () => this.update(),
      answered: (said) => this.follow(said),
      refused: (event, answer) => this.refused(event, answer),
      shutOut: () => this.shutOut(),
    });
    this.sheets = {};
    for (const name of ["paused", "idle", "help", "comment"])
      this.sheets[name] = new Sheet(name, this.clock);
    this.presence = new Presence(this.clock, this.sheets.idle);
    this.listen();
  }

  start() {
    if (document.hidden) this.clock.stop("hidden");
    this.update();
    this.retry();
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
    if (!this.task) {
      this.task = answer.said.task;
      this.view.meet(this.task, (grade, button) => this.judge(grade, button));
    }
    if (version === this.version) this.follow(answer.said);
    return this.update();
  }

  loadLater() {
    const wait = retryMs(this.loadFailures);
    this.loadFailures += 1;
    clearTimeout(this.loadTimer);
    this.loadTimer = setTimeout(() => this.load(), wait);
    this.update();
  }

  /** Show what is asked now, unless something under way will change it. */
  follow(said) {
    if (!said.step || !this.task || this.outbox.decides) return;
    this.version += 1;
    if (said.progress) this.progress = said.progress;
    if (said.last !== undefined) this.last = said.last;
    if (said.idle_seconds > 0) this.presence.idleMs = 1000 * said.idle_seconds;
    const known = this.step && this.step.question === said.step.question;
    const stays = known && this.step.kind === said.step.kind && (this.asking || said.step.kind === "done");
    if (this.asking && !stays) {
      this.clock.take();
      this.view.notice("This question was answered in another window. Here is the next one.");
    }
    this.step = said.step;
    if (!stays) this.show();
    this.update();
  }

  show() {
    const { step } = this;
    this.asking = step.kind !== "done";
    this.view.show(step);
    if (!this.asking) {
      tab.remove(this.memo);
      this.view.finish(this.task, step, this.progress.done);
      return;
    }
    const memo = tab.get(this.memo);
    const same = memo !== null && memo.question === step.question;
    this.clock.segments = same ? memo.segments : [];
    if (same && memo.paused) this.sheets.paused.open();
    this.shownAt = performance.now();
    this.clock.go("waiting");
    this.presence.awake();
    this.tellShown();
  }

  refused(event, answer) {
    if (answer.status !== 409)
      this.view.notice(
        `The server did not accept a ${event.kind}: ${answer.said.error?.message || `error ${answer.status}`}. ` +
          "It is kept in this browser; please tell who runs the judging.",
      );
    else if (event.kind === "judgment") {
      this.lost.add(event.id);
      this.view.notice("This question was answered already. Here is the one that is asked now.");
    } else if (event.kind === "undo" && !this.lost.has(event.data.judgment))
      this.view.notice("Another window judged after that. Undo takes back the last judgment, wherever it was made.");
    if (answer.said.step) this.follow(answer.said);
    else this.load();
  }

  shutOut() {
    this.remember();
    this.asking = false;
    this.clock.stop("waiting");
    this.parts.shutOut.hidden = false;
    this.update();
  }

  /** Send and ask again: the network may be back, the link may have been opened in another tab. */
  async retry() {
    this.parts.shutOut.hidden = true;
    await this.outbox.retry();
    if (!this.outbox.shutOut) await this.load();
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
    const judgment = this.undoable;
    if (judgment) this.decide("undo", { judgment });
  }

  /** The id of the judgment that an undo would take back, sent or not; one undo at a time. */
  get undoable() {
    const pending = this.outbox.pending().map(([, event]) => event);
    if (!this.task || pending.some((event) => event.kind === "undo")) return null;
    return pending.findLast((event) => event.kind === "judgment")?.id ?? this.last;
  }

  /** Write an event down that changes what is asked; the clock stands until the server says what. */
  decide(kind, data) {
    const segments = this.clock.take();
    tab.remove(this.memo);
    this.asking = false;
    this.version += 1;
    this.view.notice("");
    this.outbox.add(kind, this.clock.now(), { ...data, segments });
    this.outbox.flush();
  }

  pause() {
    if (!this.asking || !this.sheets.paused.open()) return;
    this.outbox.add("pause", this.clock.now());
    this.remember();
    this.outbox.flush();
  }

  resume() {
    const { clock, outbox } = this;
    outbox.add("resume", clock.running ? clock.start : clock.now());
    this.remember();
    this.presence.awake();
    outbox.flushIn(SHOWN_MS);
  }

  say() {
    const text = this.parts.commentText.value.trim();
    if (!text) return;
    const question = this.step && this.step.question;
    this.outbox.add("comment", this.clock.now(), { text, ...(question ? { question } : {}) });
    this.parts.commentText.value = "";
    this.outbox.flush();
    this.view.notice("Your comment is written down.");
  }

  tellShown() {
    if (!this.asking || document.hidden || this.toldShown === this.step) return;
    this.toldShown = this.step;
    this.outbox.add("shown", this.clock.now(), { question: this.step.question });
    this.outbox.flushIn(SHOWN_MS);
  }

  visibility() {
    if (document.hidden) {
      this.clock.stop("hidden");
      this.remember();
      return;
    }
    this.clock.go("hidden");
    this.presence.awake();
    this.tellShown();
    this.retry();
  }

  /** Keep the time of the open question for a reload. */
  remember() {
    if (!this.asking) return;
    tab.set(this.memo, {
      question: this.step.question,
      segments: this.clock.taken(),
      paused: this.sheets.paused.dialog.open,
    });
  }

  tick() {
    this.remember();
    this.update();
  }

  update() {
    this.view.update(this);
    this.view.updateNet(this.outbox, this.loadFailures > 0);
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
      comment: () => this.sheets.comment.open() && this.parts.commentText.focus(),
      help: () => this.sheets.help.open(),
      retry: () => this.retry(),
    };
  }

  listen() {
    const { actions, parts, sheets } = this;
    for (const button of document.querySelectorAll("[data-do]"))
      button.addEventListener("click", () => actions[button.dataset.do]());
    listenToKeys({
      actions,
      sheets,
      grades: () => (this.task?.kind === "grade" ? parts.grades.children : null),
      letters: () => parts.useKeys.checked,
    });
    sheets.paused.closed = () => this.resume();
    sheets.help.closed = sheets.comment.closed = () => this.presence.awake();
    parts.commentForm.addEventListener("submit", (event) => {
      event.preventDefault();
      this.say();
      sheets.comment.close();
    });
    parts.commentText.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        parts.commentForm.requestSubmit();
      }
    });
    parts.useKeys.checked = kept.get("podium/keys") !== false;
    parts.useKeys.addEventListener("change", () => kept.set("podium/keys", parts.useKeys.checked));
    document.addEventListener("visibilitychange", () => this.visibility());
    window.addEventListener("online", () => this.retry());
    window.addEventListener("focus", () => this.parts.shutOut.hidden || this.retry());
    window.addEventListener("pagehide", () => this.remember());
    window.addEventListener("pageshow", (event) => event.persisted && this.retry());
    window.addEventListener("storage", (event) => {
      if (!event.key || !event.key.startsWith(this.outbox.prefix)) return;
      this.update();
      if (event.newValue === null && !document.hidden && !this.outbox.busy) this.load();
    });
  }
}
