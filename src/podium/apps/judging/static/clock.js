/**
 * The active time of one judgment, in segments. The clock runs while there is no reason to stand still:
 * waiting for the server, a pause, a hidden tab, idleness and a dialog are such reasons.
 */
export class Clock {
  constructor() {
    this.reasons = new Set(["waiting"]);
    this.segments = [];
    this.start = 0;
    this.last = 0;
    this.set();
  }

  /** Follow the wall clock, but never back. */
  set() {
    this.base = Math.max(Date.now(), this.last) - performance.now();
  }

  /** Milliseconds since 1970; within a segment they are monotonic, whatever the wall clock does. */
  now() {
    this.last = Math.max(this.last, Math.round(this.base + performance.now()));
    return this.last;
  }

  get running() {
    return this.reasons.size === 0;
  }

  stop(reason, at = this.now()) {
    if (this.running) this.close(at);
    this.reasons.add(reason);
  }

  go(reason) {
    const stood = !this.running;
    this.reasons.delete(reason);
    if (stood && this.running) {
      this.set();
      this.start = this.now();
    }
  }

  close(at) {
    const end = Math.min(at, this.now());
    if (end > this.start) this.segments.push([this.start, end]);
  }

  /** All segments, with the one that is open. */
  taken() {
    const end = this.now();
    const open = this.running && end > this.start ? [[this.start, end]] : [];
    return [...this.segments, ...open];
  }

  /** All segments; the clock stands and begins anew. */
  take() {
    this.stop("waiting");
    const segments = this.segments;
    this.segments = [];
    return segments;
  }

  get milliseconds() {
    return this.taken().reduce((sum, [start, end]) => sum + end - start, 0);
  }
}
