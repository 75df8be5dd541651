const PAUSE = 700;

/** Values with undo and redo; changes of one kind that come quickly are one step, as a slider's are. */
export class History {
  constructor(value, changed) {
    this.past = [];
    this.future = [];
    this.value = value;
    this.changed = changed;
    this.last = { what: null, at: 0 };
  }

  /** A new value; `what` says which control changed it. */
  set(value, what = null) {
    const now = Date.now();
    const same = what !== null && what === this.last.what && now - this.last.at < PAUSE;
    if (!same) this.past.push(this.value);
    this.future = [];
    this.last = { what, at: now };
    this.value = value;
    this.changed();
  }

  undo() {
    this.step(this.past, this.future);
  }

  redo() {
    this.step(this.future, this.past);
  }

  step(from, to) {
    if (!from.length) return;
    to.push(this.value);
    this.value = from.pop();
    this.last = { what: null, at: 0 };
    this.changed();
  }
}
