/** A part of the page by its name. */
export const ui = (name) => document.querySelector(`[data-ui="${name}"]`);

/**
 * An element with properties, attributes (names with a dash, role, for) and children. Text stays text:
 * what documents and rules say is never read as HTML.
 */
export function make(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name in made && name !== "list") made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

export const plural = (count, what) => `${count} ${what}${count === 1 ? "" : "s"}`;

/** Words as people list them: a, b and c. */
export const listed = (words) =>
  words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;

/** Calls a function once nothing has happened for some milliseconds. */
export function debounced(milliseconds, call) {
  let timer;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(call, milliseconds);
  };
}

/** Dialogs close by their own buttons. */
export function closable(dialog) {
  for (const button of dialog.querySelectorAll("[data-close]"))
    button.addEventListener("click", () => dialog.close());
  return dialog;
}
