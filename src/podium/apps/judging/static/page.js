/** An element of the page by its data-ui, which no document can carry. */
export const ui = (name) => document.querySelector(`[data-ui="${name}"]`);

export const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** An element with a class and a text. */
export function element(tag, className = "", text = "") {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== "") made.textContent = text;
  return made;
}
