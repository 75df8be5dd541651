import { makeElement, plural } from "./elements.js";
import { browserStore } from "./browser_storage.js";
import { DocumentTabs } from "./document_tabs.js";

/** The elements of the judging page. */
export class JudgeView {
  constructor() {
    this.parts = {};
    for (const part of document.querySelectorAll("[data-ui]")) this.parts[part.dataset.ui] = part;
    this.tabs = new DocumentTabs(this.parts);
  }

  /** Show the parts for the kind of a task, once; `judge` takes a grade. */
  showTask(task, judge) {
    const graded = task.kind === "grade";
    document.body.classList.toggle("is-grade", graded);
    this.parts.pair.hidden = this.parts.tabs.hidden = graded;
    this.parts.single.hidden = !graded;
    this.parts.preferences.hidden = graded;
    this.parts.grades.hidden = !graded;
    this.parts.later.hidden = !graded;
    for (const part of document.querySelectorAll("[data-for]"))
      part.hidden = part.dataset.for !== task.kind;
    if (graded) this.makeGradeButtons(task.grades, judge);
  }

  makeGradeButtons(names, judge) {
    const buttons = names.map((name, grade) => {
      const button = makeElement("button", "answer grade");
      button.type = "button";
      button.dataset.grade = grade;
      button.dataset.name = name;
      if (grade < 9) button.append(makeElement("kbd", "", String(grade + 1)));
      button.append(makeElement("span", "", name));
      button.addEventListener("click", () => judge({ grade }, button));
      return button;
    });
    this.parts.grades.replaceChildren(...buttons);
  }

  /** Show what each grade means, in its button. */
  showDefinitions(definitions) {
    for (const button of this.parts.grades.children) {
      button.querySelector(".definition")?.remove();
      const definition = definitions[button.dataset.name];
      if (definition) button.append(makeElement("small", "definition", definition));
    }
    this.parts.grades.classList.toggle("is-defined", this.parts.grades.querySelector(".definition") !== null);
  }

  /** Show a question, a document, or the end. */
  showStep(step) {
    const { parts } = this;
    const done = step.kind === "done";
    parts.work.hidden = done;
    parts.bar.hidden = done;
    parts.done.hidden = !done;
    if (step.kind === "question") {
      showDocument(parts.left, step.left);
      showDocument(parts.right, step.right);
      this.tabs.reset();
    } else if (step.kind === "document") {
      showDocument(parts.document, step.document);
    }
    window.scrollTo(0, 0);
    if (done) return;
    for (const part of document.querySelectorAll(".is-chosen")) part.classList.remove("is-chosen");
    parts.query.focus({ preventScroll: true });
  }

  showResult(task, step, judged) {
    const graded = task.kind === "grade";
    const lines = graded ? gradeLines(step.graded, task.grades) : rankLines(step.levels);
    const count = `You judged ${plural(judged, graded ? "document" : "pair")}, and all of it is kept.`;
    const heading = graded ? "Your grades:" : lines.length ? "The best, as you see it:" : "You found none good.";
    this.parts.doneText.textContent = judged
      ? `${count} ${heading}`
      : "There was nothing to judge: there are too few documents.";
    this.parts.result.replaceChildren(...lines);
    this.parts.doneTitle.focus({ preventScroll: true });
  }

  showNotice(text) {
    this.parts.notice.textContent = text;
    this.parts.notice.hidden = !text;
  }

  /** Update the progress, the clock and the buttons. */
  update({ task, progress, clock, asking, undoable }) {
    const { parts } = this;
    const { done, remaining, certainty } = progress;
    if (task) {
      const about = Math.ceil(remaining);
      const left = task.kind === "grade" ? `${about} to go` : `about ${about} to go`;
      const sure = certainty === undefined ? "" : `, ${Math.floor(100 * certainty)} % sure`;
      const text = `${done} judged, ${about > 0 ? left : "nothing to go"}${sure}`;
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

  /** Update the message about unsent events and a missing connection. */
  updateConnection(outbox, loading) {
    const { parts } = this;
    const { unsent } = outbox;
    const failing = outbox.failures > 0 || loading;
    parts.net.hidden = outbox.isSignedOut || !(failing || (unsent && !browserStore.isPersistent));
    if (parts.net.hidden) return;
    const problem = unsent ? `Not sent yet: ${unsent}.` : "The server does not answer.";
    const advice = browserStore.isPersistent
      ? "Kept in this browser until it is."
      : "Do not close this window: the browser keeps nothing.";
    const next = "Please wait: the next question comes as soon as the server answers.";
    const wait = Math.ceil((outbox.retryAt - Date.now()) / 1000);
    parts.netText.textContent = [problem, unsent ? advice : "", outbox.hasDecision || !unsent ? next : ""]
      .filter(Boolean)
      .join(" ");
    parts.netWhen.textContent = wait > 0 ? `Next try in ${wait} s.` : "Trying now.";
  }
}

/** Show a document in its place. */
function showDocument(place, doc) {
  const [title, body] = [place.querySelector("[data-title]"), place.querySelector("[data-body]")];
  if (doc.title_html === undefined) title.textContent = doc.title || "";
  else title.innerHTML = doc.title_html; // the title, escaped, with the query's words highlighted
  title.hidden = !doc.title;
  body.hidden = false;
  if (doc.image) {
    const image = makeElement("img");
    image.alt = doc.title || "The document, an image";
    image.addEventListener("error", () =>
      body.replaceChildren(makeElement("p", "missing", "This image could not be loaded.")),
    );
    image.src = doc.image;
    body.replaceChildren(image);
    return;
  }
  if (doc.html === undefined) body.textContent = doc.text || "";
  else body.innerHTML = doc.html; // sanitised by the server; the page's policy runs no script in it
  for (const link of body.querySelectorAll("a[href]")) {
    link.target = "_blank";
    link.rel = "noopener noreferrer nofollow";
  }
  const isEmpty = !body.textContent.trim() && !body.querySelector("img");
  body.hidden = isEmpty && Boolean(doc.title); // the title is all there is
  if (isEmpty && !doc.title)
    body.replaceChildren(makeElement("p", "missing", "This document is empty."));
}

const nameOf = (doc) => doc.title || doc.id;

/** Return lines of the top k, tied documents in one line; after two first ones comes the third place. */
function rankLines(levels) {
  let better = 0;
  return levels.map((level) => {
    const line = makeElement("li", "", level.map(nameOf).join(" = "));
    line.value = better + 1;
    better += level.length;
    return line;
  });
}

/** Return lines of documents and their grades, best first. */
function gradeLines(graded, names) {
  const sorted = [...graded].sort((one, other) => other.grade - one.grade);
  return sorted.map((doc) => {
    const line = makeElement("li", "", `${nameOf(doc)} `);
    line.append(makeElement("small", "", names[doc.grade]));
    return line;
  });
}
