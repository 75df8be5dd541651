/* Publishing: editors save the rules as a new version, look at earlier ones, and go back to them. */
import { saveToTab, loadFromTab } from "./tab_storage.js";
import { tell } from "./notices.js";
import { closable, make, plural, ui } from "./page.js";
import { Refused } from "./service.js";
import { missingPart, say, sayScope, sayWhen, scopeOf, tidy } from "./rules.js";

const SHOWN_LISTS = 8;
const SHOWN_PLACES = 5;

/** A rule in words, with the queries it is for. */
const sentence = (record) => [say(record, String), scopeOf(record) && sayScope(record), sayWhen(record)].filter(Boolean).join(", ");

/** Changed rules as a list: what was added, removed or changed. */
function changeList(changes) {
  const line = (words, record) => make("li", {}, make("strong", { textContent: `${words} ` }), sentence(record));
  const lines = changes.flatMap(({ change, before, after }) =>
    change === "changed" ? [line("was", before), line("now", after)] : [line(change, change === "added" ? after : before)]);
  return make("ul", { className: "changes" }, ...lines);
}

/** The rules that differ between two lists, each with what it was or is. */
export function changesBetween(before, after) {
  const text = (record) => JSON.stringify(tidy(record));
  const [old, now] = [new Set(before.map(text)), new Set(after.map(text))];
  return [
    ...after.filter((record) => !old.has(text(record))).map((record) => ({ change: "added", after: record })),
    ...before.filter((record) => !now.has(text(record))).map((record) => ({ change: "removed", before: record })),
  ];
}

const when = (time) => new Date(time).toLocaleString();

const numberOf = (revision) => Number.parseInt(revision, 10);

/** The part of the page for editors. Rules are made from the version `base`; later ones are merged when they are saved. */
export class Publishing {
  constructor(playground) {
    this.playground = playground;
    this.service = playground.service;
    this.state = { enabled: false };
    this.draft = "";
    this.base = loadFromTab("base");
    this.saving = closable(ui("publish"));
    this.history = closable(ui("versions"));
    const actions = {
      signIn: () => this.signIn(),
      publish: () => this.open(),
      versions: () => this.showVersions(),
    };
    for (const [name, run] of Object.entries(actions)) document.querySelector(`[data-do=${name}]`).addEventListener("click", () => playground.guard(run));
    const inDialog = { preview: () => this.preview(), savePublish: () => this.save(), saveDraft: () => this.saveDraft() };
    for (const [name, run] of Object.entries(inDialog))
      this.saving.querySelector(`[data-do=${name}]`).addEventListener("click", () => this.attempt(run));
  }

  ask(path, body = {}) {
    return this.service.ask(`/v1/editing/${path}`, body);
  }

  /** Errors of a dialog are shown in it. */
  async attempt(work) {
    const wrong = ui("publishWrong");
    wrong.textContent = "";
    try {
      await work();
    } catch (error) {
      wrong.textContent = error.message;
    }
  }

  /** Whether rules can be edited here, and by whom. */
  async look() {
    this.state = await this.service.ask("/v1/editing");
    const { enabled, editor } = this.state;
    ui("editing").hidden = !enabled;
    document.querySelector("[data-do=signIn]").hidden = Boolean(editor);
    for (const name of ["publish", "versions"]) document.querySelector(`[data-do=${name}]`).hidden = !editor;
    ui("editorName").textContent = editor ? `Signed in as ${editor}.` : "";
    if (editor) await this.follow();
  }

  /** Edit the newest version; work on an older one goes on, and is merged when it is saved. */
  async follow() {
    const { playground } = this;
    const isWorkedOn = changesBetween(playground.served, playground.records()).length > 0;
    if (!isWorkedOn || !this.base) this.setBase(this.state.revision);
    playground.served = await this.version(this.base);
    if (!isWorkedOn && changesBetween(playground.served, playground.records()).length) playground.showServed();
  }

  /** The rules of a version. */
  async version(revision) {
    return (await this.ask("version", { number: numberOf(revision) })).rules;
  }

  setBase(revision) {
    this.base = revision;
    saveToTab("base", revision);
  }

  async signIn() {
    await this.service.askForToken();
    await this.look();
    if (!this.state.editor) tell("That is not the token of an editor.");
  }

  // --- saving ---

  /** The rules as they are saved: those that are finished. */
  finished() {
    return this.playground.records().filter((record) => !missingPart(record)).map(tidy);
  }

  async open() {
    await this.look();
    for (const name of ["publishWrong", "publishTold"]) ui(name).textContent = "";
    for (const name of ["merge", "previewed"]) ui(name).replaceChildren();
    this.showChanges();
    this.saving.showModal();
    ui("reason").focus();
  }

  showChanges() {
    const changes = changesBetween(this.playground.served, this.finished());
    ui("changes").replaceChildren(changes.length ? changeList(changes) : make("p", { textContent: "Nothing is changed." }));
    const unfinished = this.playground.records().length - this.finished().length;
    if (unfinished) ui("changes").append(make("p", { textContent: `${plural(unfinished, "rule")} not finished: not saved.` }));
    this.saving.querySelector("[data-do=savePublish]").disabled = !changes.length;
  }

  async save() {
    try {
      const { version, revision } = await this.ask("save", {
        base: this.base, rules: this.finished(), reason: ui("reason").value.trim(), draft: this.draft || null,
      });
      ui("reason").value = this.draft = "";
      this.saving.close();
      await this.take(revision, `Version ${version.number} is saved and served.`);
    } catch (error) {
      if (!(error instanceof Refused) || error.told.code !== "edit_conflict") throw error;
      await this.merge();
    }
  }

  /** Show the rules of a new version, and say what was done. */
  async take(revision, done) {
    this.setBase(revision);
    this.playground.served = await this.version(revision);
    this.playground.showServed();
    tell(done);
  }

  /** Somebody saved since: show what, and merge; where both changed a rule, ask. */
  async merge() {
    const merged = await this.ask("merge", { base: this.base, rules: this.finished() });
    const { conflicts, theirs, editor } = merged;
    const who = editor || "Somebody";
    const rules = [...merged.rules];
    const choices = conflicts.map(({ mine, theirs: other, number }) => {
      const choose = (record) => {
        if (number !== null && number !== undefined) rules[number] = record;
        else if (record) rules.push(record);
      };
      const pick = make("select", { "aria-label": "Which one stays" },
        make("option", { value: "mine", textContent: `mine: ${mine ? sentence(mine) : "removed"}` }),
        make("option", { value: "theirs", textContent: `${who}: ${other ? sentence(other) : "removed"}` }));
      return { pick, settle: () => choose(pick.value === "mine" ? mine : other) };
    });
    const accept = async () => {
      for (const { settle } of choices) settle();
      this.setBase(merged.revision);
      this.playground.served = await this.version(merged.revision);
      this.playground.setRecords(rules.filter(Boolean));
      ui("merge").replaceChildren();
      this.showChanges();
      ui("publishTold").textContent = "Merged. Look at the changes, then save.";
    };
    ui("merge").replaceChildren(
      make("h3", { textContent: `${who} saved other rules in the meantime` }),
      changeList(theirs),
      ...choices.map(({ pick }) => make("label", {}, "You both changed a rule. Which one stays? ", pick)),
      make("div", { className: "row" }, make("button", { type: "button", textContent: "Merge both", onclick: () => this.attempt(accept) })));
    ui("publishTold").textContent = "Nothing is saved yet: somebody was first.";
  }

  /** What the rules would do on recent requests and on the sample. */
  async preview() {
    const { tried, changed, lists } = await this.ask("preview", { rules: this.finished() });
    const title = ({ documents }, id) => documents.find((document) => document.id === id)?.fields?.title ?? id;
    const first = (list, ids) => ids.slice(0, SHOWN_PLACES).map((id) => title(list, id)).join(", ");
    ui("previewed").replaceChildren(
      make("p", { textContent: `${plural(tried, "list")} tried, ${changed} changed.` }),
      ...lists.slice(0, SHOWN_LISTS).map((list) => make("dl", {},
        make("dt", { textContent: `${list.query || "(no query)"}${list.live ? "" : ", of the sample"}: ${plural(list.moved, "document")} moved${list.hidden.length ? `, ${list.hidden.length} hidden` : ""}` }),
        make("dd", { textContent: `was: ${first(list, list.before)}` }),
        make("dd", { textContent: `now: ${first(list, list.after)}` }))));
  }

  async saveDraft() {
    const [name, from, until] = ["draftName", "draftFrom", "draftUntil"].map((part) => ui(part).value.trim());
    const old = (this.state.drafts ?? []).find((draft) => draft.name === name);
    const { draft } = await this.ask("draft/save", {
      name, from, until, base: this.base, rules: this.finished(), revision: old?.revision ?? "", reason: ui("reason").value.trim(),
    });
    ui("publishTold").textContent = `Draft ${draft.name} is saved${draft.from ? `; it is served from ${draft.from}${draft.until ? ` until ${draft.until}` : ""}` : "; it is not served"}.`;
    this.state = await this.service.ask("/v1/editing");
  }

  // --- versions ---

  async showVersions() {
    await this.look();
    const { versions } = await this.ask("history");
    const newest = numberOf(this.state.revision);
    ui("versionList").replaceChildren(...versions.map((version) => this.versionItem(version, newest)));
    ui("draftList").replaceChildren(...(this.state.drafts ?? []).map((draft) => this.draftItem(draft)));
    ui("draftPart").hidden = !this.state.drafts?.length;
    ui("versionsTold").textContent = versions.length ? "" : "No version is saved yet.";
    if (!this.history.open) this.history.showModal();
  }

  versionItem({ number, editor, time, action, reason, changes = {} }, newest) {
    const counts = Object.entries(changes).map(([change, count]) => `${count} ${change}`).join(", ");
    const place = make("div");
    const buttons = number === newest ? [make("span", { className: "about", textContent: "served" })] : [
      make("button", { type: "button", className: "small", textContent: `Compare ${number} with ${newest}`, onclick: () => this.compare(number, newest, place) }),
      make("button", { type: "button", className: "small", textContent: `Roll back to ${number}`, onclick: () => this.rollBack(number) }),
    ];
    return make("li", {},
      make("p", {}, make("strong", { textContent: `${number} ` }), `${editor}, ${when(time)}: ${reason || action}${counts && ` (${counts})`}`),
      make("div", { className: "row" }, ...buttons), place);
  }

  draftItem({ name, revision, editor, from, until, active }) {
    const times = [from && `from ${from}`, until && `until ${until}`].filter(Boolean).join(" ");
    const remove = () => this.playground.guard(async () => {
      await this.ask("draft/remove", { name, revision });
      await this.showVersions();
    });
    const open = () => this.playground.guard(async () => {
      this.playground.setRecords((await this.ask("draft", { name })).rules);
      this.draft = name;
      this.history.close();
      tell(`The rules of the draft ${name}. Save publishes them.`);
    });
    return make("li", {},
      make("p", {}, make("strong", { textContent: `${name} ` }), `by ${editor}${times && `, ${times}`}${active ? ", served now" : ""}`),
      make("div", { className: "row" },
        make("button", { type: "button", className: "small", textContent: `Open ${name}`, onclick: open }),
        make("button", { type: "button", className: "small", textContent: `Remove ${name}`, onclick: remove })));
  }

  compare(first, second, place) {
    return this.playground.guard(async () => {
      const { changes } = await this.ask("compare", { first, second });
      place.replaceChildren(changes.length ? changeList(changes) : make("p", { textContent: "The rules are the same." }));
    });
  }

  rollBack(number) {
    return this.playground.guard(async () => {
      const { revision, version } = await this.ask("rollback", { number, base: this.state.revision, reason: `back to version ${number}` });
      this.history.close();
      await this.take(revision, `Version ${version.number} is served: the rules of version ${number}.`);
    });
  }
}
