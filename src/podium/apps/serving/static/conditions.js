/* Conditions that a form can show: one field, one comparison, one value. Others are shown as text. */

export const COMPARISONS = {
  "==": "is", "!=": "is not", "<": "is less than", ">": "is more than", "<=": "is at most", ">=": "is at least",
  in: "contains",
};
const NAME = String.raw`([A-Za-z_]\w*|` + "`[^`]+`)";
const VALUE = String.raw`(-?\d+(?:\.\d+)?|"(?:[^"\\]|\\.)*"|'[^'\\]*'|True|False)`;
const COMPARED = new RegExp(`^\\s*${NAME}\\s*(==|!=|<=|>=|<|>)\\s*${VALUE}\\s*$`);
const CONTAINED = new RegExp(`^\\s*${VALUE}\\s+in\\s+${NAME}\\s*$`);
const WORD = /^(?!(?:and|or|not|in|is|if|else|for|class|from|import|as|with|def|del|pass|return|lambda|None|True|False|global|try|while|async|await|yield|raise|assert|break|continue|except|finally|elif|nonlocal)$)[A-Za-z_]\w*$/;

/** The parts of a simple condition, or null. */
export function readCondition(text) {
  let found = COMPARED.exec(text);
  if (found) return parts(found[1], found[2], found[3]);
  found = CONTAINED.exec(text);
  return found && parts(found[2], "in", found[1]);
}

function parts(name, comparison, literal) {
  const field = name.startsWith("`") ? name.slice(1, -1) : name;
  return { field, comparison, value: plain(literal) };
}

function plain(literal) {
  if (literal.startsWith('"')) {
    try {
      return JSON.parse(literal);
    } catch {
      return literal.slice(1, -1);
    }
  }
  return literal.startsWith("'") ? literal.slice(1, -1) : literal;
}

/** The text of a simple condition; `known` are values of the field, whose kind the value has. */
export function writeCondition({ field, comparison, value }, known = []) {
  const name = WORD.test(field) ? field : `\`${field}\``;
  const text = literal(value, known);
  return comparison === "in" ? `${JSON.stringify(String(value))} in ${name}` : `${name} ${comparison} ${text}`;
}

function literal(value, known) {
  const numbers = known.length > 0 && known.every((one) => typeof one === "number");
  if (numbers && /^-?\d+(\.\d+)?$/.test(value)) return value;
  if (known.some((one) => typeof one === "boolean") && /^(true|false)$/i.test(value))
    return value.toLowerCase() === "true" ? "True" : "False";
  return JSON.stringify(String(value));
}

/** A condition as people say it. */
export function sayCondition(text) {
  const found = readCondition(text);
  return found ? `${found.field} ${COMPARISONS[found.comparison]} ${found.value}` : text;
}
