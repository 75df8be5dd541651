/** Values in the browser's storage; in memory only if the browser stores nothing. */
class BrowserStorage {
  constructor(area) {
    this.memory = new Map();
    try {
      this.area = window[area];
      this.area.getItem("podium");
    } catch {
      this.area = null;
    }
  }

  /** Whether all values survive closing the window. */
  get isPersistent() {
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
      this.memory.set(key, text); // no storage, or it is full
    }
  }

  remove(key) {
    this.memory.delete(key);
    this.area?.removeItem(key);
  }
}

export const browserStore = new BrowserStorage("localStorage"); // for all windows, permanently
export const tabStore = new BrowserStorage("sessionStorage"); // for this window, across reloads
