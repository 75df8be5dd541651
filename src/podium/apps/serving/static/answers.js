/* Answers of the service about rules: the list under them, and which of them clash. */
import { say, tidy } from "./rules.js";

/** The list under its rules; an invalid rule is left out, and its card says why. */
export async function postrank(service, documents, rules, signal) {
  const wrong = new Map();
  for (;;) {
    const sent = rules.filter(({ key }) => !wrong.has(key));
    const body = { documents: documents.sent(), query: documents.query, rules: sent.map(({ record }) => tidy(record)), explain: true };
    try {
      const answer = await service.ask("/v1/postrank", body, signal);
      return { answer, clashes: (answer.yielded ?? []).map((one) => clashOf(one, sent)), sent, wrong };
    } catch (error) {
      const [, at] = /^rules\[(\d+)\]: /.exec(error.message) ?? [];
      if (error.status === 409) return { clashes: [{ rules: error.told.numbers.map((number) => sent[number]) }], sent, wrong };
      if (error.status !== 422 || !sent[at]) throw error;
      wrong.set(sent[at].key, error.message.replace(/^rules\[\d+\]: /, ""));
    }
  }
}

/** A clash: its rules, the one that gave way, and whether the search for an order reached its limit. */
function clashOf({ number, to = [], undecided = false }, sent) {
  const numbers = [number, ...to].sort((one, other) => one - other);
  return { rules: numbers.map((at) => sent[at]), loser: sent[number], isUndecided: undecided };
}

/** Findings about pairs of rules. */
export async function findings(service, rules, signal) {
  try {
    const answer = await service.ask("/v1/rules/check", { rules: rules.map(({ record }) => tidy(record)) }, signal);
    return { rules, found: answer.findings.filter((finding) => finding.rules.length > 1) };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return { rules: [], found: [] }; // the answer about the list says what is wrong
  }
}

/** The clashes of a file: the service does not start with those in `refused`; it serves the others. */
export async function clashesIn(service, text, onList) {
  try {
    const { rules, findings: found = [] } = await service.ask("/v1/rules/check", { yaml: text });
    const errors = found.filter(({ level, message }) => level === "error" && message.startsWith("cannot hold"));
    const refused = errors.map((finding) => finding.rules.map((at) => rules[at]));
    const [written, refusedOnes] = [new Set(rules.map(ruleKey)), new Set(refused.map(ruleSetKey))];
    const served = onList.map((clash) => ({ ...clash, records: clash.rules.map(({ record }) => record) }))
      .filter(({ loser, records }) => loser && records.every((record) => written.has(ruleKey(record))) && !refusedOnes.has(ruleSetKey(records)));
    return { refused, served };
  } catch {
    return { refused: [], served: [] }; // an invalid rule file is reported where it is used
  }
}

/** A text that is equal for equal rules, however their records are written. */
const ruleKey = (record) => `${say(record, String)} ${record.query ?? ""} ${record.pattern ?? ""}`;
const ruleSetKey = (records) => records.map(ruleKey).sort().join();
