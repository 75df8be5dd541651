import { element, plural } from "./page.js";
import { kept } from "./shelf.js";

/** What is on the page of a task. */
export class View {
  constructor() {
    this.parts = {};
    for (const part of document.querySelectorAll("[data-ui]")) this.parts[part.dataset.ui] = part;
  }

  /** The task as such, once; `judge` takes a grade. */
  meet(task, judge) {
    const graded = task.kind === "grade";
    document.body.classList.toggle("is-grade", graded);
    this.parts.pair.hidden = graded;
    this.parts.single.hidden = !graded;
    this.parts.preferences.hidden = graded;
    this.parts.grades.hidden = !graded;
    this.parts.later.hidden = !graded;
    for (const part of document.querySelectorAll("[data-for]"))
      part.hidden = part.dataset.for !== task.kind;
    if (graded) this.makeGrades(task.grades, judge);
  }

  makeGrades(names, judge) {
    const buttons = names.map((name, grade) => {
      const button = element("button", "answer grade");
      button.type = "button";
      button.dataset.grade = grade;
      if (grade < 9) button.append(element("kbd", "", String(grade + 1)));
      button.append(element("span", "", name));
      button.addEventListener("click", () => judge({ grade }, button));
      return button;
    });
    this.parts.grades.replaceChildren(...buttons);
  }

  /** A question, a document, or the end. */
  show(step) {
    const { parts } = this;
    const done = step.kind === "done";
    parts.work.hidden = done;
    parts.bar.hidden = done;
    parts.done.hidden = !done;
    if (step.kind === "question") {
      fill(parts.left, step.left);
      fill(parts.right, step.right);
    } else if (step.kind === "document") {
      fill(parts.document, step.document);
    }
    window.scrollTo(0, 0);
    if (done) return;
    for (const part of document.querySelectorAll(".is-chosen")) part.classList.remove("is-chosen");
    parts.query.focus({ preventScroll: true });
  }

  finish(task, step, judged) {
    const graded = task.kind === "grade";
    const found = graded ? byGrade(step.graded, task.grades) : byRank(step.levels);
    const how = `You judged ${plural(judged, graded ? "document" : "pair")}, and all of it is kept.`;
    const what = graded ? "Your grades:" : found.length ? "The best, as you see it:" : "You found none good.";
    this.parts.doneText.textContent = judged
      ? `${how} ${what}`
      : "There was nothing to judge: there are too few documents.";
    this.parts.result.replaceChildren(...found);
    this.parts.doneTitle.focus({ preventScroll: true });
  }

  notice(text) {
    this.parts.notice.textContent = text;
    this.parts.notice.hidden = !text;
  }

  /** How far the task is, and the clock. */
  update({ task, progress, clock, asking, undoable }) {
    const { parts } = this;
    const { done, remaining } = progress;
    if (task) {
      const about = Math.ceil(remaining);
      const left = task.kind === "grade" ? `${about} to go` : `about ${about} to go`;
      const text = `${done} judged, ${about > 0 ? left : "nothing to go"}`;
      if (parts.progressText.textContent !== text) parts.progressText.textContent = text;
      parts.progress.max = Math.max(done + remaining, 1);
      parts.progress.value = done;
    }
    const seconds = Math.floor(clock.milliseconds / 1000);
    parts.clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
    parts.clock.classList.toggle("is-still", !clock.running);
    for (const button of document.querySelectorAll(".answer, [data-do=pause], [data-do=later]"))
      button.disabled = !asking;
    for (const button of document.querySelectorAll("[data-do=undo]")) button.disabled = !undoable;
    parts.work.setAttribute("aria-busy", String(!asking));
  }

  /** What is not sent, and what to wait for. */
  updateNet(outbox, loading) {
    const { parts } = this;
    const { unsent } = outbox;
    const failing = outbox.failures > 0 || loading;
    parts.net.hidden = outbox.shutOut || !(failing || (unsent && !kept.safe));
    if (parts.net.hidden) return;
    const what = unsent ? `Not sent yet: ${unsent}.` : "The server does not answer.";
    const where = kept.safe
      ? "Kept in this browser until it is."
      : "Do not close this window: the browser keeps nothing.";
    const next = "Please wait: the next question comes as soon as the server answers.";
    const wait = Math.ceil((outbox.retryAt - Date.now()) / 1000);
    parts.netText.textContent = [what, unsent ? where : "", outbox.decides || !unsent ? next : ""]
      .filter(Boolean)
      .join(" ");
    parts.netWhen.textContent = wait > 0 ? `Next try in ${wait} s.` : "Trying now.";
  }
}

/** A document into its place. */
function fill(place, shown) {
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

const name = (shown) => shown.title || shown.id;

/** The top k, tied documents in one line: two that are first leave no second place. */
function byRank(levels) {
  let better = 0;
  return levels.map((level) => {
    const line = element("li", "", level.map(name).join(" = "));
    line.value = better + 1;
    better += level.length;
    return line;
  });
}

/** Documents and their grades, the best first. */
function byGrade(graded, names) {
  const sorted = [...graded].sort((one, other) => other.grade - one.grade);
  return sorted.map((shown) => {
    const line = element("li", "", `${name(shown)} `);
    line.append(element("small", "", names[shown.grade]));
    return line;
  });
}
