/* A list of documents: from the sample with the model's scores, or as somebody pasted it. */

const SHOWN = 3;
const TRUTH_WORDS = new Set(["yes", "no", "true", "false"]);

/** What the page knows of a list: titles, fields and their values. */
export class Documents {
  constructor(query, given, source) {
    this.query = query;
    this.source = source;
    this.listed = given.map((doc) => ({ ...doc, title: titleOf(doc), note: noteOf(doc) }));
    this.byId = new Map(this.listed.map((doc) => [doc.id, doc]));
    this.ids = new Set(this.byId.keys());
    this.fields = [...new Set(given.flatMap((doc) => Object.keys(doc.fields ?? {})))].sort();
  }

  title(id) {
    return this.byId.get(id)?.title ?? id;
  }

  values(field) {
    return this.listed.flatMap((doc) => doc.fields?.[field] ?? []);
  }

  /** As the service takes them. */
  sent() {
    return this.listed.map(({ id, score, fields }) => ({ id, ...(score !== undefined && { score }), ...(fields && { fields }) }));
  }
}

/** A sample's query in the model's order where it has features that fit, else in its own. */
export async function fromSample(service, sample, model, isDemo, signal) {
  const { query, documents } = sample;
  const whose = isDemo ? "The demo’s list: Python’s standard library, ranked by a learned model." : "The sample’s own list.";
  if (!model || !documents.length || !documents.every((doc) => doc.features))
    return new Documents(query, byScore(documents), model ? `${whose} ${withoutModel(model, isDemo)}` : whose);
  const name = `${model.name}@${model.version}`;
  try {
    const asked = documents.map(({ id, features }) => ({ id, features }));
    const answer = await service.ask("/v1/rank", { model: name, documents: asked }, signal);
    const ranked = answer.order.map((row, at) => ({ ...documents[row], score: answer.scores[at] }));
    return new Documents(query, ranked, `Ranked by the model “${model.name}”.`);
  } catch (error) {
    if (error.status !== 422) throw error;
    return new Documents(query, byScore(documents), `${whose} Model ${model.name} cannot rank it: ${error.message}.`);
  }
}

/** Why the order is not the model's, and how it becomes so. */
function withoutModel(model, isDemo) {
  const why = `Its documents have no features, so the model “${model.name}” does not rank it`;
  return isDemo ? `${why}: start podium serve with --samples to see your own searches.` : `${why}.`;
}

/** Lines as a list: a name each, or id, tab, title; a name that comes again is left out. */
export function fromLines(query, text) {
  const found = new Map();
  for (const line of text.split("\n").map((one) => one.trim()).filter(Boolean)) {
    const [id, ...rest] = line.split("\t").map((part) => part.trim());
    const title = rest.filter(Boolean).join(" ");
    const key = (id || title).slice(0, 1000);
    if (!found.has(key)) found.set(key, { id: key, ...(title && { fields: { title } }) });
  }
  return new Documents(query, [...found.values()], "Your own list, best first.");
}

function byScore(documents) {
  if (!documents.every((doc) => doc.score !== undefined)) return documents;
  return [...documents].sort((one, other) => other.score - one.score);
}

const text = (value) => (typeof value === "string" || typeof value === "number" ? String(value) : "");
const titleOf = ({ id, fields }) => text(fields?.title) || text(fields?.name) || id;

/** A line below the title: the snippet, or the first fields that say something. */
export function noteOf({ id, fields = {} }) {
  const snippet = text(fields.snippet);
  if (snippet) return snippet;
  // A column such as product_id repeats the id, which has its own place.
  const says = ([name, value]) => !["title", "name"].includes(name) && text(value) && text(value) !== id;
  const others = Object.entries(fields).filter(says);
  // A word such as "Acme" speaks for itself; a number, or a yes, does not.
  const isPlain = (value) => typeof value === "string" && !TRUTH_WORDS.has(value.toLowerCase());
  const said = others.slice(0, SHOWN).map(([name, value]) => (isPlain(value) ? value : `${name} ${value}`));
  return [titleOf({ id, fields }) === id ? "" : id, ...said].filter(Boolean).join(" · ");
}
