import { browserStore, tabStore } from "./browser_storage.js";
import { Clock } from "./clock.js";
import { GuidelinesDialog } from "./guidelines.js";
import { IdleDetector } from "./idle_detection.js";
import { JudgeView } from "./judge_view.js";
import { listenToKeys } from "./keyboard.js";
import { Outbox, retryMs, sendRequest } from "./outbox.js";
import { TimedDialog } from "./timed_dialog.js";

const SHOWN_DELAY_MS = 2000; // an event "shown" may wait, to be sent together with a judgment
const DOUBLE_CLICK_MS = 250; // the second click of a double click does not judge the next question

/** The judging page of one task: shows questions and records what the assessor does. */
export class JudgePage {
  constructor(main, csrfToken) {
    this.id = main.dataset.task;
    this.csrfToken = csrfToken;
    this.url = `/api/tasks/${encodeURIComponent(this.id)}`;
    this.clockKey = `podium/clock/${encodeURIComponent(this.id)}`;
    this.view = new JudgeView();
    this.parts = this.view.parts;
    this.task = null;
    this.step = null;
    this.progress = { done: 0, remaining: 0 };
    this.last = null; // the id of the last judgment that the server has
    this.asking = false;
    this.recordedStep = null;
    this.lateJudgments = new Set(); // ids of judgments that came too late
    this.version = 0; // of the question: a late answer about an older question is ignored
    this.loadFailures = 0;
    this.clock = new Clock();
    this.outbox = new Outbox(this.id, csrfToken, {
      onChange: () => this.update(),
      onAnswer: (state) => this.showState(state),
      onRefusal: (event, answer) => this.handleRefusal(event, answer),
      onSignedOut: () => this.handleSignedOut(),
    });
    this.dialogs = {};
    for (const name of ["paused", "idle", "help", "comment", "guidelines"])
      this.dialogs[name] = new TimedDialog(name, this.clock);
    this.guidelines = new GuidelinesDialog(this.dialogs.guidelines, {
      onChange: () => this.view.showDefinitions(this.guidelines.definitions),
    });
    this.idleDetector = new IdleDetector(this.clock, this.dialogs.idle);
    this.listen();
  }

  start() {
    if (document.hidden) this.clock.stop("hidden");
    this.update();
    this.guidelines.openIfNew();
    this.retry();
    setInterval(() => this.tick(), 1000);
  }

  // Answers of the server.

  async load() {
    const version = this.version;
    let answer;
    try {
      answer = await sendRequest(this.url, this.csrfToken);
    } catch {
      return this.loadLater();
    }
    if (answer.status === 401 || answer.status === 403) return this.handleSignedOut();
    if (answer.status !== 200) return this.loadLater();
    this.loadFailures = 0;
    if (!this.task) {
      this.task = answer.json.task;
      this.view.showTask(this.task, (grade, button) => this.judge(grade, button));
      this.view.showDefinitions(this.guidelines.definitions);
    }
    if (version === this.version) this.showState(answer.json);
    return this.update();
  }

  loadLater() {
    const wait = retryMs(this.loadFailures);
    this.loadFailures += 1;
    clearTimeout(this.loadTimer);
    this.loadTimer = setTimeout(() => this.load(), wait);
    this.update();
  }

  /** Show the current question, unless an unsent event will change it. */
  showState(state) {
    if (!state.step || !this.task || this.outbox.hasDecision) return;
    this.version += 1;
    if (state.progress) this.progress = state.progress;
    if (state.last !== undefined) this.last = state.last;
    this.guidelines.follow(state.guidelines);
    if (state.idle_seconds > 0) this.idleDetector.idleMs = 1000 * state.idle_seconds;
    const isSame = this.step && this.step.question === state.step.question;
    const stays = isSame && this.step.kind === state.step.kind && (this.asking || state.step.kind === "done");
    if (this.asking && !stays) {
      this.clock.takeSegments();
      this.view.showNotice("This question was answered in another window. Here is the next one.");
    }
    this.step = state.step;
    if (!stays) this.showStep();
    this.update();
  }

  showStep() {
    const { step } = this;
    this.asking = step.kind !== "done";
    this.view.showStep(step);
    if (!this.asking) {
      tabStore.remove(this.clockKey);
      this.view.showResult(this.task, step, this.progress.done);
      return;
    }
    const saved = tabStore.get(this.clockKey);
    const same = saved !== null && saved.question === step.question;
    this.clock.segments = same ? saved.segments : [];
    if (same && saved.paused) this.dialogs.paused.open();
    this.shownAt = performance.now();
    this.clock.resume("waiting");
    this.idleDetector.noteActivity();
    this.recordShown();
  }

  handleRefusal(event, answer) {
    if (answer.status !== 409)
      this.view.showNotice(
        `The server did not accept a ${event.kind}: ${answer.json.error?.message || `error ${answer.status}`}. ` +
          "It is kept in this browser; please tell who runs the judging.",
      );
    else if (event.kind === "judgment") {
      this.lateJudgments.add(event.id);
      this.view.showNotice("This question was answered already. Here is the one that is asked now.");
    } else if (event.kind === "undo" && !this.lateJudgments.has(event.data.judgment))
      this.view.showNotice("Another window judged after that. Undo takes back the last judgment, wherever it was made.");
    if (answer.json.step) this.showState(answer.json);
    else this.load();
  }

  handleSignedOut() {
    this.saveClock();
    this.asking = false;
    this.clock.stop("waiting");
    this.parts.signedOut.hidden = false;
    this.update();
  }

  /** Send and load again: the network may be back, the link may have been opened in another tab. */
  async retry() {
    this.parts.signedOut.hidden = true;
    await this.outbox.retry();
    if (!this.outbox.isSignedOut) await this.load();
  }

  // Actions of the assessor.

  /** Whether an answer counts now: a double click does not answer twice. */
  get ready() {
    return this.asking && performance.now() - this.shownAt > DOUBLE_CLICK_MS;
  }

  judge(answer, ...chosen) {
    if (!this.ready || !this.clock.running) return;
    chosen.forEach((part) => part.classList.add("is-chosen"));
    const guidelines = this.guidelines.version;
    this.sendDecision("judgment", { question: this.step.question, guidelines, ...answer });
  }

  skip() {
    if (this.ready && this.task.kind === "grade")
      this.sendDecision("skip", { question: this.step.question });
  }

  undo() {
    const judgment = this.undoable;
    if (judgment) this.sendDecision("undo", { judgment });
  }

  /** The id of the judgment that an undo would take back, sent or not; one undo at a time. */
  get undoable() {
    const pending = this.outbox.pending().map(([, event]) => event);
    if (!this.task || pending.some((event) => event.kind === "undo")) return null;
    return pending.findLast((event) => event.kind === "judgment")?.id ?? this.last;
  }

  /** Store and send an event that changes the question; the clock stops until the server answers. */
  sendDecision(kind, data) {
    const segments = this.clock.takeSegments();
    tabStore.remove(this.clockKey);
    this.asking = false;
    this.version += 1;
    this.view.showNotice("");
    this.outbox.add(kind, this.clock.now(), { ...data, segments });
    this.outbox.flush();
  }

  pause() {
    if (!this.asking || !this.dialogs.paused.open()) return;
    this.outbox.add("pause", this.clock.now());
    this.saveClock();
    this.outbox.flush();
  }

  resume() {
    const { clock, outbox } = this;
    outbox.add("resume", clock.running ? clock.start : clock.now());
    this.saveClock();
    this.idleDetector.noteActivity();
    outbox.flushIn(SHOWN_DELAY_MS);
  }

  sendComment() {
    const text = this.parts.commentText.value.trim();
    if (!text) return;
    const question = this.step && this.step.question;
    this.outbox.add("comment", this.clock.now(), { text, ...(question ? { question } : {}) });
    this.parts.commentText.value = "";
    this.outbox.flush();
    this.view.showNotice("Your comment is written down.");
  }

  recordShown() {
    if (!this.asking || document.hidden || this.recordedStep === this.step) return;
    this.recordedStep = this.step;
    this.outbox.add("shown", this.clock.now(), { question: this.step.question });
    this.outbox.flushIn(SHOWN_DELAY_MS);
  }

  handleVisibility() {
    if (document.hidden) {
      this.clock.stop("hidden");
      this.saveClock();
      return;
    }
    this.clock.resume("hidden");
    this.idleDetector.noteActivity();
    this.recordShown();
    this.retry();
  }

  /** Store the active time of the current question, for a reload of the page. */
  saveClock() {
    if (!this.asking) return;
    tabStore.set(this.clockKey, {
      question: this.step.question,
      segments: this.clock.allSegments(),
      paused: this.dialogs.paused.dialog.open,
    });
  }

  tick() {
    this.saveClock();
    this.update();
  }

  update() {
    this.view.update(this);
    this.view.updateConnection(this.outbox, this.loadFailures > 0);
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
      later: () => this.skip(),
      pause: () => this.pause(),
      comment: () => this.dialogs.comment.open() && this.parts.commentText.focus(),
      help: () => this.dialogs.help.open(),
      guidelines: () => this.guidelines.version && this.dialogs.guidelines.open(),
      retry: () => this.retry(),
    };
  }

  listen() {
    const { actions, parts, dialogs } = this;
    for (const button of document.querySelectorAll("[data-do]"))
      button.addEventListener("click", () => actions[button.dataset.do]());
    listenToKeys({
      actions,
      dialogs,
      grades: () => (this.task?.kind === "grade" ? parts.grades.children : null),
      letters: () => parts.useKeys.checked,
    });
    dialogs.paused.onClose = () => this.resume();
    for (const name of ["help", "comment", "guidelines"])
      dialogs[name].onClose = () => this.idleDetector.noteActivity();
    parts.commentForm.addEventListener("submit", (event) => {
      event.preventDefault();
      this.sendComment();
      dialogs.comment.close();
    });
    parts.commentText.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
        event.preventDefault();
        parts.commentForm.requestSubmit();
      }
    });
    parts.useKeys.checked = browserStore.get("podium/keys") !== false;
    parts.useKeys.addEventListener("change", () => browserStore.set("podium/keys", parts.useKeys.checked));
    document.addEventListener("visibilitychange", () => this.handleVisibility());
    window.addEventListener("online", () => this.retry());
    window.addEventListener("focus", () => this.parts.signedOut.hidden || this.retry());
    window.addEventListener("pagehide", () => this.saveClock());
    window.addEventListener("pageshow", (event) => event.persisted && this.retry());
    window.addEventListener("storage", (event) => {
      if (!event.key || !event.key.startsWith(this.outbox.prefix)) return;
      this.update();
      if (event.newValue === null && !document.hidden && !this.outbox.busy) this.load();
    });
  }
}
