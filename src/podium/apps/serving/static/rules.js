/* Rules as records of a rule file, and what they say in plain words. */
import { sayCondition } from "./conditions.js";
import { listed } from "./page.js";

const ONE = ["docs"];
const PAIR = ["first", "second"];

/** Kinds: words for menus, keys, numbers with words around them, and what a new one begins with. */
export const KINDS = {
  "top-k": {
    menu: "Show in the first …", key: "t", roles: ONE, numbers: [["k", "in the first", ""]],
    start: { k: 3, weight: 2 }, say: (r, who) => `Show ${who} in the first ${r.k}`,
  },
  "not-top-k": {
    menu: "Not in the first …", key: "n", roles: ONE, numbers: [["k", "not in the first", ""]],
    start: { k: 5, weight: 1 }, say: (r, who) => `Keep ${who} out of the first ${r.k}`,
  },
  pin: {
    menu: "Pin to place …", key: "p", roles: ONE, numbers: [["position", "at place", ""]],
    start: { position: 1, hard: true }, say: (r, who) => `Pin ${who} to place ${r.position}`,
  },
  before: {
    menu: "One before the other", key: "b", roles: PAIR, numbers: [],
    start: { weight: 0.5 }, say: (r, who, other) => `Show ${who} before ${other}`,
  },
  together: {
    menu: "Keep together", key: "g", roles: ONE, each: true, several: true, numbers: [],
    start: { hard: true }, say: (r, who) => `Keep ${who} together`,
  },
  apart: {
    menu: "Keep apart", key: "a", roles: ONE, each: true, several: true,
    numbers: [["gap", "with at least", "others between"]],
    start: { gap: 1, weight: 0.2 }, say: (r, who) => `Keep ${who} apart, ${r.gap ?? 1} or more between`,
  },
  "at-most": {
    menu: "At most … in the first …", key: "m", roles: ONE, each: true, group: true,
    numbers: [["m", "at most", ""], ["k", "in the first", ""]],
    start: { m: 2, k: 5, weight: 3 }, say: (r, who) => `At most ${r.m} of ${who} in the first ${r.k}`,
  },
  "at-least": {
    menu: "At least … in the first …", key: "l", roles: ONE, each: true, group: true,
    numbers: [["m", "at least", ""], ["k", "in the first", ""]],
    start: { m: 1, k: 5, weight: 3 }, say: (r, who) => `At least ${r.m} of ${who} in the first ${r.k}`,
  },
  hide: {
    menu: "Hide", key: "h", roles: ONE, numbers: [],
    start: { hard: true }, say: (r, who) => `Hide ${who}`,
  },
};
export const USUAL = { weight: 1, hard: false, priority: 0, gap: 1 };
const LOWEST = { m: 0 };
const LARGEST = 2 ** 31 - 1;
const NOT_SAID = ["rule", "name", "query", "pattern", "starts", "ends", "when", "class"];
const KEYS_OF_TARGETS = ["docs", "where", "each", "first", "second"];

let made = 0;

/** A record with a key of its own, by which its card is found again. */
export const keyed = (record) => ({ key: (made += 1), record });

/** A new rule for documents, or for none yet: for one query, until somebody widens it. */
export function newRule(kind, ids = [], query = "") {
  const { roles, start } = KINDS[kind];
  const record = { rule: kind };
  if (roles === PAIR) {
    record.first = ids.slice(0, 1);
    record.second = ids.slice(1);
  } else record.docs = ids;
  return keyed({ ...record, ...start, ...(query.trim() && { query }) });
}

/** Another kind of rule for the same documents, as strong as it was. */
export function ofKind(record, kind) {
  const target = targetOf(record, rolesOf(record)[0]);
  const { start } = KINDS[kind];
  const kept = Object.fromEntries(
    Object.entries(record).filter(([name]) => name !== "rule" && !KEYS_OF_TARGETS.includes(name) && !(name in { k: 1, m: 1, gap: 1, position: 1 })),
  );
  const numbers = Object.fromEntries(KINDS[kind].numbers.map(([name]) => [name, record[name] ?? start[name]]));
  const fits = target.mode !== "each" || KINDS[kind].each;
  const known = fits ? target : { mode: "docs", ids: [] };
  const [role, other] = KINDS[kind].roles;
  const second = other && targetOf(record, "second");
  let next = withTarget({ rule: kind, ...numbers, ...kept }, role, known);
  if (other) next = withTarget(next, other, second);
  return next;
}

/** Whether the page has a form for a rule; others are shown in words, and changed in rules.yaml. */
export const hasForm = (record) => record.rule in KINDS;

export const rolesOf = (record) => KINDS[record.rule]?.roles ?? [];

/** Whom a rule is about: documents by id, by a condition, or each value of a field. */
export function targetOf(record, role) {
  if (role === "docs" && record.where !== undefined) return { mode: "where", text: record.where };
  if (role === "docs" && record.each !== undefined) return { mode: "each", field: record.each };
  const value = record[role];
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return { mode: "where", text: value.where };
  return { mode: "docs", ids: (value === undefined ? [] : [value]).flat().map(String) };
}

/** The record about somebody else. */
export function withTarget(record, role, target) {
  const next = { ...record };
  if (role === "docs") for (const name of ["docs", "where", "each"]) delete next[name];
  if (target.mode === "docs") next[role] = target.ids;
  else if (target.mode === "each") next.each = target.field;
  else if (role === "docs") next.where = target.text;
  else next[role] = { where: target.text };
  return next;
}

/** What a rule still lacks, in words; nothing where it is whole. */
export function missingPart(record) {
  for (const role of rolesOf(record)) {
    const target = targetOf(record, role);
    const empty = { docs: () => !target.ids.length, where: () => !target.text?.trim(), each: () => !target.field };
    if (empty[target.mode]()) return target.mode === "docs" ? "Choose a document." : "Say which documents.";
  }
  const { several, numbers } = KINDS[record.rule] ?? { numbers: [] };
  const target = hasForm(record) && targetOf(record, rolesOf(record)[0]);
  if (several && target.mode === "docs" && target.ids.length < 2) return "Choose one more document.";
  for (const [name, before] of numbers) {
    const value = record[name] ?? USUAL[name];
    if (!Number.isInteger(value) || value < (LOWEST[name] ?? 1)) return `Give “${before}” a whole number, ${LOWEST[name] ?? 1} or more.`;
  }
  if (["query", "pattern"].some((name) => record[name]?.trim() === "")) return "Say which query.";
  const priority = record.priority ?? 0;
  if (!Number.isInteger(priority) || Math.abs(priority) > LARGEST) return "Give it a whole number as priority.";
  const weight = record.weight ?? 1;
  if (!(weight >= 0 && weight <= 1e9)) return "Give it a weight of 0 or more.";
  if (record.starts && record.ends && record.ends < record.starts) return "It ends before it starts.";
  return "";
}

/** The record as it is sent and written: nothing that is as usual, one document by itself. */
export function tidy(record) {
  const said = Object.entries(record).filter(([name, value]) => value !== "" && value !== undefined && value !== USUAL[name]);
  return Object.fromEntries(said.map(([name, value]) => [name, Array.isArray(value) && value.length === 1 ? value[0] : value]));
}

/** A rule in words; `title` gives those of a document. */
export function say(record, title) {
  if (record.name) return record.name;
  if (!hasForm(record)) return sayEntries(record);
  return KINDS[record.rule].say(record, ...rolesOf(record).map((role) => sayTarget(targetOf(record, role), title)));
}

/** A rule without a form: its kind, and what the file says of it. */
function sayEntries(record) {
  const entries = Object.entries(record).filter(([name]) => !NOT_SAID.includes(name) && !(name in USUAL));
  return `${record.rule}: ${entries.map(([name, value]) => `${name} ${sayValue(value)}`).join(", ")}`;
}

const sayValue = (value) => (typeof value === "object" ? JSON.stringify(value) : String(value));

/** What a request must have for a rule to act, in words; nothing for a rule without such conditions. */
export const sayWhen = (record) => (record.when === undefined ? "" : `when ${JSON.stringify(record.when)}`);

/** The queries of a rule: "query", "pattern", or "" for every query. */
export const scopeOf = (record) => ["query", "pattern"].find((name) => record[name] !== undefined) ?? "";

/** The queries of a rule, in words. */
export function sayScope(record) {
  const scope = scopeOf(record);
  if (!scope) return "for every query";
  return scope === "query" ? `for “${record.query}”` : `for queries like “${record.pattern}”`;
}

/** Whom a rule is about, in words. */
export function sayTarget(target, title) {
  if (target.mode === "each") return `each ${target.field || "…"}`;
  if (target.mode === "where") return `what has ${sayCondition(target.text || "…")}`;
  const names = target.ids.map(title);
  if (!names.length) return "…";
  return names.length > 3 ? `${names.slice(0, 2).join(", ")} and ${names.length - 2} others` : listed(names);
}

const plain = (query) => query.toLowerCase().split(/\s+/).filter(Boolean).join(" ");

/** Whether a rule is for a query, and can name one of its documents. */
export function concerns(record, query, ids) {
  if (record.query !== undefined && plain(record.query) !== plain(query)) return false;
  if (record.pattern !== undefined && !like(record.pattern, query)) return false;
  const targets = rolesOf(record).map((role) => targetOf(record, role));
  const named = targets.filter((target) => target.mode === "docs").flatMap((target) => target.ids);
  return targets.some((target) => target.mode !== "docs") || !named.length || named.some((id) => ids.has(id));
}

function like(pattern, query) {
  const escaped = plain(pattern).replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*+/g, ".*").replace(/\?/g, ".");
  return new RegExp(`^${escaped}$`, "su").test(plain(query));
}
