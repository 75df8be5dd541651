/* What became of rules, in words: for their cards, and for the documents they moved. */
import { listed, make, plural } from "./page.js";
import { rolesOf, say, targetOf, who } from "./rules.js";

const MISSED = {
  "at-most": (by) => `${by} too many`,
  "at-least": (by) => `${by} too few`,
  together: (by) => `${plural(by, "stranger")} in between`,
  apart: (by) => `${plural(by, "document")} too near`,
};

/** What an outcome of the service says of a rule. */
export function told(record, outcome) {
  if (outcome.note) return { kind: "idle", text: `Does nothing here: ${outcome.note}.` };
  if (outcome.yielded && outcome.satisfied) return { kind: "yielded", text: "Counts as a wish: it clashes with a rule of higher priority. It holds all the same." };
  if (outcome.yielded) return { kind: "yielded", text: "Gave way to a rule of higher priority." };
  if (outcome.satisfied) return { kind: "holds", text: "Holds." };
  const by = MISSED[record.rule]?.(outcome.slack) ?? `off by ${plural(outcome.slack, "place")}`;
  return { kind: "missed", text: `Not met: ${by}. “Must hold” makes sure of it.` };
}

/** What rules say of each other. */
export function withOthers(finding, mine, number) {
  const others = finding.rules.filter((rule) => rule !== mine).map((rule) => number(rule));
  const which = `${others.length > 1 ? "rules" : "rule"} ${listed(others)}`;
  if (finding.message.startsWith("say the same")) return `Says the same as ${which}.`;
  return `Contradicts ${which}: they cannot hold together.`;
}

/** Rules that must hold and cannot. */
export function clash(numbers) {
  if (numbers.length === 1) return `Rule ${numbers[0]} must hold, and no order of this list meets it.`;
  return `Rules ${listed(numbers)} must hold, and cannot all hold together. Without any one of them the others can.`;
}

/** Why a document moved: the rules, by number and in words. */
export function why(move, rules, numberOf, title) {
  const lines = move.because.map((at) => {
    const { key, record } = rules[at];
    const named = rolesOf(record).flatMap((role) => targetOf(record, role).ids ?? []);
    const isOwn = !named.length || named.includes(move.id);
    const others = () => rolesOf(record).map((role) => who(targetOf(record, role), title)).join(" and ");
    // Of several rules none has the whole move to itself: each is told as what it asks for.
    const words = isOwn || move.because.length > 1 ? say(record, title) : `${move.to < move.from ? "moves up past" : "makes way for"} ${others()}`;
    return make("li", {}, make("span", { className: "number", textContent: numberOf(key) }), make("span", { textContent: words }));
  });
  if (!lines.length) lines.push(make("li", { textContent: "makes way for others" }));
  return make("ul", { className: "why", "aria-label": "Because of" }, ...lines);
}

/** The whole of it in a sentence. */
export function summary({ documents, moves, hidden, rules, outcomes }) {
  if (!rules.length) return "No rules yet: the order is the same.";
  const steps = moves.size - hidden.length;
  const what = steps ? `${steps} of ${plural(documents.length, "document")} moved` : "Nothing moved";
  const acting = outcomes.filter((outcome) => !outcome.note);
  const held = acting.filter((outcome) => outcome.satisfied).length;
  const how = !acting.length ? "no rule acts here" : held === acting.length ? ({ 1: "the rule holds", 2: "both rules hold" }[held] ?? `all ${held} rules hold`) : `${held} of ${acting.length} rules hold`;
  return `${what}${hidden.length ? `, ${hidden.length} hidden` : ""}; ${how}.`;
}

/** The furthest moves, to be read aloud. */
export function aloud(moves, title) {
  const far = [...moves.values()].filter((move) => move.to).sort((a, b) => Math.abs(b.from - b.to) - Math.abs(a.from - a.to));
  return far.slice(0, 3).map((move) => `${title(move.id)} from ${move.from} to ${move.to}`).join(", ");
}
