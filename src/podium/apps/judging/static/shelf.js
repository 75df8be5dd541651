/** What the browser keeps; in memory only, where it keeps nothing. */
class Shelf {
  constructor(area) {
    this.memory = new Map();
    try {
      this.area = window[area];
      this.area.getItem("podium");
    } catch {
      this.area = null;
    }
  }

  get safe() {
    return this.area !== null && this.memory.size === 0;
  }

  keys(prefix) {
    const stored = this.area ? Object.keys(this.area) : [];
    return [...stored, ...this.memory.keys()].filter((key) => key.startsWith(prefix)).sort();
  }

  get(key) {
    const text = this.memory.get(key) ?? this.area?.getItem(key);
    try {
      return text ? JSON.parse(text) : null;
    } catch {
      return null;
    }
  }

  set(key, value) {
    const text = JSON.stringify(value);
    try {
      this.area.setItem(key, text);
      this.memory.delete(key);
    } catch {
      this.memory.set(key, text); // no storage, or a full one
    }
  }

  remove(key) {
    this.memory.delete(key);
    this.area?.removeItem(key);
  }
}

export const kept = new Shelf("localStorage"); // for all windows and for good
export const tab = new Shelf("sessionStorage"); // for this window, across reloads
