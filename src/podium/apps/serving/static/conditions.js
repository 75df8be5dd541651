/* Conditions that a form can show: one field, one comparison, one value. Others are shown as text. */

export const COMPARISONS = {
  "==": "is", "!=": "is not", "<": "is less than", ">": "is more than", "<=": "is at most", ">=": "is at least",
  in: "contains",
};
const NAME = String.raw`([A-Za-z_]\w*|` + "`[^`]+`)";
const NUMERAL = String.raw`-?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?`;
const VALUE = String.raw`(${NUMERAL}|"(?:[^"\\]|\\.)*"|'[^'\\]*'|True|False)`;
const COMPARED = new RegExp(`^\\s*${NAME}\\s*(==|!=|<=|>=|<|>)\\s*${VALUE}\\s*$`);
const CONTAINED = new RegExp(`^\\s*${VALUE}\\s+in\\s+${NAME}\\s*$`);
const NUMBER = new RegExp(`^${NUMERAL}$`);
const WORD = /^(?!(?:and|or|not|in|is|if|else|for|class|from|import|as|with|def|del|pass|return|lambda|None|True|False|global|try|while|async|await|yield|raise|assert|break|continue|except|finally|elif|nonlocal)$)[A-Za-z_]\w*$/;

/** Whether a condition can name a field: a name in backquotes cannot contain a backquote. */
export const isSayable = (field) => field !== "" && !field.includes("`");

/** The parts of a simple condition, with the kind of its value; or null. */
export function readCondition(text) {
  const compared = COMPARED.exec(text);
  if (compared) return parts(compared[1], compared[2], compared[3]);
  const contained = CONTAINED.exec(text);
  return contained && parts(contained[2], "in", contained[1]);
}

function parts(name, comparison, literal) {
  const field = name.startsWith("`") ? name.slice(1, -1) : name;
  if (literal.startsWith("'")) return { field, comparison, value: literal.slice(1, -1), kind: "string" };
  if (!literal.startsWith('"')) return { field, comparison, value: literal, kind: NUMBER.test(literal) ? "number" : "boolean" };
  try {
    return { field, comparison, value: JSON.parse(literal), kind: "string" };
  } catch {
    return null; // Python has more escapes than JSON
  }
}

/**
 * The text of a simple condition. A number stays a number and a truth a truth, as it was read; text gives
 * way to the kind that the `known` values of the field have.
 */
export function writeCondition({ field, comparison, value, kind }, known = []) {
  const name = WORD.test(field) ? field : `\`${field}\``;
  const text = literal(value, kind === "number" || kind === "boolean" ? kind : kindOf(known));
  return comparison === "in" ? `${text} in ${name}` : `${name} ${comparison} ${text}`;
}

/** The kind that all values have, if they have one. */
function kindOf(values) {
  const kinds = new Set(values.map((value) => typeof value));
  return kinds.size === 1 ? [...kinds][0] : null;
}

/** A value of a kind, if it can be one; else text. */
function literal(value, kind) {
  const short = value.trim().replace(/^(-?)0+(?=\d)/, "$1");
  if (kind === "number" && NUMBER.test(short)) return short;
  if (kind === "boolean" && /^(true|false)$/i.test(short)) return short.toLowerCase() === "true" ? "True" : "False";
  return JSON.stringify(value);
}

/** A condition as people say it. */
export function sayCondition(text) {
  const found = readCondition(text);
  return found ? `${found.field} ${COMPARISONS[found.comparison]} ${found.value}` : text;
}
