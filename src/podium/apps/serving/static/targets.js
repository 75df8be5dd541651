/* Whom a rule is about: documents, a condition on a field, or each value of a field. */
import { Combobox } from "./combobox.js";
import { COMPARISONS, isSayable, readCondition, writeCondition } from "./conditions.js";
import { make } from "./page.js";

const MODES = { docs: "these documents", where: "documents whose", each: "each value of" };

/** The controls of a target; `documents` knows the list, `change(target, what)` hears of changes. */
export function targetControls({ target, label, hasEach, documents, change }) {
  const modes = Object.entries(MODES).filter(([mode]) => mode !== "each" || hasEach);
  const usable = modes.filter(([mode]) => mode === "docs" || mode === target.mode || fieldsOf(mode, documents).length);
  const choice = make("select", { "aria-label": `${label}: chosen by`, "data-field": `${label}-mode` },
    ...usable.map(([mode, words]) => make("option", { value: mode, textContent: words, selected: mode === target.mode })));
  choice.hidden = usable.length < 2;
  choice.addEventListener("change", () => change(blank(choice.value, documents), "mode"));
  const parts = { docs: byId, where: byCondition, each: byValue }[target.mode];
  return make("div", { className: "target", role: "group", "aria-label": label }, choice, ...parts({ target, label, documents, change }));
}

/** The fields that documents can be chosen by. */
const fieldsOf = (mode, { fields }) => (mode === "where" ? fields.filter(isSayable) : fields);

function blank(mode, documents) {
  if (mode === "docs") return { mode, ids: [] };
  const [field] = fieldsOf(mode, documents);
  return mode === "each" ? { mode, field } : { mode, text: writeCondition({ field, comparison: "==", value: "" }) };
}

function byId({ target, label, documents, change }) {
  const chips = target.ids.map((id) =>
    make("span", { className: "chip" }, make("span", { textContent: documents.title(id) }),
      make("button", {
        type: "button", "aria-label": `Without ${documents.title(id)}`, textContent: "×",
        onclick: () => change({ mode: "docs", ids: target.ids.filter((other) => other !== id) }),
      })));
  const adding = new Combobox({
    label: `${label}: add a document`, placeholder: target.ids.length ? "and another…" : "Find a document…",
    options: () => documents.all().filter(({ id }) => !target.ids.includes(id)).map((doc) => ({ id: doc.id, text: doc.title, note: doc.note })),
    chosen: (id) => change({ mode: "docs", ids: [...target.ids, id] }),
  });
  adding.input.dataset.field = `${label}-add`;
  return [...chips, adding.element];
}

function byCondition({ target, label, documents, change }) {
  const found = readCondition(target.text ?? "");
  if (!found) return [asText({ target, label, change })];
  const names = [...new Set([...fieldsOf("where", documents), found.field])];
  const set = (more) => {
    const next = { ...found, value: value.value, ...more };
    change({ mode: "where", text: writeCondition(next, documents.values(next.field)) }, `${label}-where`);
  };
  const field = options(names.map((name) => [name, name]), found.field, `${label}: field`, `${label}-field`, (name) => set({ field: name, value: "" }));
  const comparison = options(Object.entries(COMPARISONS), found.comparison, `${label}: comparison`, `${label}-comparison`, (other) => set({ comparison: other }));
  const known = make("datalist", { id: `values-${Math.random().toString(36).slice(2)}` },
    ...[...new Set(documents.values(found.field).map(String))].slice(0, 200).map((value) => make("option", { value })));
  const value = make("input", {
    type: "text", value: found.value, placeholder: "value", "aria-label": `${label}: value`, "data-field": `${label}-value`, list: known.id,
    oninput: () => set({}),
  });
  return [field, comparison, value, known];
}

/** A condition that no form can show. */
function asText({ target, label, change }) {
  const text = make("input", {
    type: "text", className: "long", value: target.text ?? "", "aria-label": `${label}: condition`, "data-field": `${label}-text`,
    placeholder: 'brand == "acme" and price < 10', spellcheck: false,
    oninput: () => change({ mode: "where", text: text.value }, `${label}-where`),
  });
  return text;
}

function byValue({ target, label, documents, change }) {
  const names = [...new Set([...documents.fields, target.field])].filter(Boolean);
  return [options(names.map((name) => [name, name]), target.field, `${label}: field`, `${label}-each`, (field) => change({ mode: "each", field }))];
}

function options(all, chosen, label, field, change) {
  const select = make("select", { "aria-label": label, "data-field": field },
    ...all.map(([value, words]) => make("option", { value, textContent: words, selected: value === chosen })));
  select.addEventListener("change", () => change(select.value));
  return select;
}
