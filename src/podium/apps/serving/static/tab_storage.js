/* What this tab remembers until it is closed; a browser that keeps nothing forgets it at a reload. */

export function loadFromTab(name) {
  try {
    return JSON.parse(sessionStorage.getItem(`podium/${name}`));
  } catch {
    return null;
  }
}

export function saveToTab(name, value) {
  try {
    sessionStorage.setItem(`podium/${name}`, JSON.stringify(value));
  } catch {
    // nothing is kept
  }
}
