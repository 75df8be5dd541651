/* The outcomes of rules in words: for their cards, and for the documents that they moved. */
import { listed, make, plural } from "./page.js";
import { rolesOf, say, targetOf, sayTarget } from "./rules.js";

const MISSED = {
  "at-most": (by) => `${by} too many`,
  "at-least": (by) => `${by} too few`,
  together: (by) => `${plural(by, "stranger")} in between`,
  apart: (by) => `${plural(by, "document")} too near`,
};

/** Whether a rule that must hold names a field that no document has. */
const isUnapplied = (record, outcome) => Boolean(record.hard) && /^unknown field/.test(outcome.note ?? "");

/** What an outcome of the service says of a rule. */
export function sayOutcome(record, outcome) {
  const end = /[.?!]$/.test(outcome.note) ? "" : ".";
  if (isUnapplied(record, outcome)) return { kind: "missed", text: `Not applied: ${outcome.note}${end}` };
  if (outcome.note) return { kind: "idle", text: `Does nothing here: ${outcome.note}${end}` };
  if (outcome.yielded && outcome.satisfied) return { kind: "yielded", text: "Counts as a wish: it clashes with a rule that must hold. It holds all the same." };
  if (outcome.yielded) return { kind: "yielded", text: "Gave way to a rule that it clashes with." };
  if (outcome.satisfied) return { kind: "holds", text: "Holds." };
  const by = MISSED[record.rule]?.(outcome.slack) ?? `off by ${plural(outcome.slack, "place")}`;
  return { kind: "missed", text: `Not met: ${by}. “Must hold” makes sure of it.` };
}

/** A finding about two rules, in words. */
export function withOthers(finding, mine, number) {
  const others = finding.rules.filter((rule) => rule !== mine).map((rule) => number(rule));
  const which = rulesBy(others);
  if (finding.message.startsWith("say the same")) return `Says the same as ${which}.`;
  return `Contradicts ${which}: they cannot hold together.`;
}

/** A clash in words: its rules, the one that gave way, and why that one; without one there is no list. */
export function sayClash({ rules, loser, isUndecided }, numberOf) {
  const numbers = rules.map(({ key }) => numberOf(key));
  if (isUndecided) return `Rule ${numberOf(loser.key)} gave way: no order was found in time that meets it and the other rules that must hold.`;
  if (numbers.length === 1) return `Rule ${numbers[0]} must hold, and no order of this list meets it.${loser ? " It gave way." : ""}`;
  const end = loser ? `Rule ${numberOf(loser.key)} gave way: ${reason(loser, rules)}.` : "Without any one of them the others can.";
  return `Rules ${listed(numbers)} must hold, and cannot all hold together. ${end}`;
}

/** Why this rule of a clash gave way and no other. */
function reason(loser, rules) {
  const priority = ({ record }) => record.priority ?? 0;
  const equals = rules.filter((rule) => priority(rule) === priority(loser)).map(({ record }) => record.rule);
  if (equals.length === 1) return "its priority is the lowest";
  if (loser.record.rule === "pin" && equals.includes("hide")) return "at equal priority a pin gives way to a hide";
  return "at equal priority the rule whose name sorts last gives way";
}

/** What is wrong with a place that the list does not have. */
export function placeBeyond(record, count) {
  return record.rule === "pin" && record.position > count ? ` The list has ${plural(count, "document")}: give it a place from 1 to ${count}.` : "";
}

/** One rule of a clash with others, by their numbers; without an outcome there is no list. */
export function ofClash(others, outcome) {
  const text = others.length ? `Cannot hold together with ${rulesBy(others)}.` : "No order of this list meets it.";
  if (!outcome) return { kind: "conflict", text };
  return { kind: "conflict", text: `${outcome.yielded ? "Gave way." : outcome.satisfied ? "Holds." : "Not met."} ${text}` };
}

/** Rules of a file that clash on the list, where the service lets one give way: said where the file is copied. */
export function servedClashes(clashes, title) {
  const [first, ...more] = clashes;
  if (!first) return "";
  const quoted = (record) => `“${say(record, title)}”`;
  const others = first.records.filter((record) => record !== first.loser.record).map(quoted);
  const to = others.length ? ` to ${listed(others)}` : "";
  const rest = more.length ? ` ${more.length === 1 ? "Another rule gives" : `${more.length} more rules give`} way, too.` : "";
  return `${quoted(first.loser.record)} gives way${to} on this list; the service serves it.${rest}`;
}

/** Rules of a file that the service refuses: said where the file is copied. */
export function refusedClashes(clashes, title) {
  const names = clashes.map((records) => records.map((record) => `“${say(record, title)}”`));
  const [first, ...more] = names.map((some) => (some.length > 1 ? `${listed(some)} cannot all hold together` : `${some} cannot hold`));
  if (!first) return "";
  return `${first}${more.length ? `, and there ${more.length === 1 ? "is another clash" : `are ${more.length} more clashes`}` : ""}. Change one of them before you use the file.`;
}

const rulesBy = (numbers, isStart = false) => `${isStart ? "R" : "r"}ule${numbers.length > 1 ? "s" : ""} ${listed(numbers)}`;

/** Why a document moved: the rules, by number and in words. */
export function explainMove(move, rules, numberOf, title) {
  const lines = move.because.map((at) => {
    const { key, record } = rules[at];
    const named = rolesOf(record).flatMap((role) => targetOf(record, role).ids ?? []);
    const isOwn = !named.length || named.includes(move.id);
    const others = () => rolesOf(record).map((role) => sayTarget(targetOf(record, role), title)).join(" and ");
    // If several rules cause a move, none causes all of it, so each is described by what it asks for.
    const words = isOwn || move.because.length > 1 ? say(record, title) : `${move.to < move.from ? "moves up past" : "makes way for"} ${others()}`;
    return make("li", {}, make("span", { className: "number", textContent: numberOf(key) }), make("span", { textContent: words }));
  });
  if (!lines.length) lines.push(make("li", { textContent: "makes way for others" }));
  return make("ul", { className: "why", "aria-label": "Because of" }, ...lines);
}

/** The whole of it in a sentence: `isOld` where a clash leaves the list as it was, `unused` rules cannot be used. */
export function summary({ documents, moves, hidden, rules, outcomes, isOld, unused }) {
  if (isOld) return "The rules cannot all hold.";
  if (!rules.length) return unused ? `${plural(unused, "rule")} cannot be used: the order is the same.` : "No rules yet: the order is the same.";
  const steps = moves.size - hidden.length;
  const what = steps ? `${steps} of ${plural(documents.length, "document")} moved` : "Nothing moved";
  const acting = outcomes.filter((outcome) => !outcome.note);
  const held = acting.filter((outcome) => outcome.satisfied).length;
  const total = acting.length + unused;
  const lost = outcomes.filter((outcome, at) => isUnapplied(rules[at].record, outcome)).length;
  const warning = lost ? ` ${plural(lost, "rule")} that must hold ${lost === 1 ? "is" : "are"} not applied: unknown field.` : "";
  const idle = outcomes.length - acting.length;
  const rest = idle ? `, ${plural(idle, "other")} ${idle === 1 ? "does" : "do"} nothing here` : "";
  return `${what}${hidden.length ? `, ${hidden.length} hidden` : ""}; ${holding(held, total)}${total ? rest : ""}.${warning}`;
}

/** How many of the rules that act hold. */
function holding(held, total) {
  if (!total) return "no rule acts here";
  if (total === 1) return held ? "the rule holds" : "the rule does not hold";
  if (held === total) return total === 2 ? "both rules hold" : `all ${held} rules hold`;
  return `${held} of ${total} rules ${held === 1 ? "holds" : "hold"}`;
}

/** The furthest moves, to be read aloud. */
export function announceMoves(moves, title) {
  const far = [...moves.values()].filter((move) => move.to).sort((a, b) => Math.abs(b.from - b.to) - Math.abs(a.from - a.to));
  return far.slice(0, 3).map((move) => `${title(move.id)} from ${move.from} to ${move.to}`).join(", ");
}
