/* What the service says of rules: the list under them, and which of them clash. */
import { say, tidy } from "./rules.js";

/** The list under its rules; a rule that is not one is set aside, and its card says why. */
export async function postrank(service, documents, rules, signal) {
  const wrong = new Map();
  for (;;) {
    const sent = rules.filter(({ key }) => !wrong.has(key));
    const body = { documents: documents.sent(), query: documents.query, rules: sent.map(({ record }) => tidy(record)), explain: true };
    try {
      const answer = await service.ask("/v1/postrank", body, signal);
      const clashing = answer.rules?.some((outcome) => outcome.yielded) ? await clash(service, body, sent, signal) : [];
      return { answer, clashing, sent, wrong };
    } catch (error) {
      const [, at] = /^rules\[(\d+)\]: /.exec(error.message) ?? [];
      if (error.status === 409) return { clashing: clashingKeys(error, sent), sent, wrong };
      if (error.status !== 422 || !sent[at]) throw error;
      wrong.set(sent[at].key, error.message.replace(/^rules\[\d+\]: /, ""));
    }
  }
}

/** The rules of which some gave way: the service names them where none may. */
async function clash(service, body, sent, signal) {
  try {
    await service.ask("/v1/postrank", { ...body, explain: false, conflicts: "error" }, signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    if (error.status === 409) return clashingKeys(error, sent);
  }
  return [];
}

const clashingKeys = (error, sent) => error.told.numbers.map((number) => sent[number].key);

/** What rules say of each other. */
export async function findings(service, rules, signal) {
  try {
    const answer = await service.ask("/v1/rules/check", { rules: rules.map(({ record }) => tidy(record)) }, signal);
    return { rules, found: answer.findings.filter((finding) => finding.rules.length > 1) };
  } catch (error) {
    if (error.name === "AbortError") throw error;
    return { rules: [], found: [] }; // the list's own answer says what is wrong
  }
}

/** The rules of a file that must hold and cannot: by themselves, or, if the file has them, those that clash on the list. */
export async function clashesIn(service, text, clashing) {
  try {
    const { rules, findings: found = [] } = await service.ask("/v1/rules/check", { yaml: text });
    const errors = found.filter(({ level, message }) => level === "error" && message.startsWith("cannot hold"));
    const written = new Set(rules.map(told));
    const onList = clashing.length && clashing.every((record) => written.has(told(record))) ? [clashing] : [];
    const all = [...errors.map((finding) => finding.rules.map((at) => rules[at])), ...onList];
    return [...new Map(all.map((records) => [records.map(told).sort().join(), records])).values()];
  } catch {
    return []; // a text that is no rule file is told where it is used
  }
}

/** What tells rules apart, however their records are written. */
const told = (record) => `${say(record, String)} ${record.query ?? ""} ${record.pattern ?? ""}`;
