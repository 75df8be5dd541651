/** Return an element of the page by its data-ui; sanitised documents have no such attribute. */
export const uiElement = (name) => document.querySelector(`[data-ui="${name}"]`);

export const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

/** Make an element with a class and a text. */
export function makeElement(tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== "") node.textContent = text;
  return node;
}
