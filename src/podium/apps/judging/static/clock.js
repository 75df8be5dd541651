/**
 * Measures the active time of one judgment in segments. The clock runs while there is no reason to stop:
 * waiting for the server, a pause, a hidden tab, idleness or an open dialog.
 */
export class Clock {
  constructor() {
    this.reasons = new Set(["waiting"]);
    this.segments = [];
    this.start = 0;
    this.last = 0;
    this.synchronise();
  }

  /** Set the base to the wall clock, but never back. */
  synchronise() {
    this.base = Math.max(Date.now(), this.last) - performance.now();
  }

  /** Return milliseconds since 1970; they never decrease, also if the wall clock is set back. */
  now() {
    this.last = Math.max(this.last, Math.round(this.base + performance.now()));
    return this.last;
  }

  get running() {
    return this.reasons.size === 0;
  }

  stop(reason, at = this.now()) {
    if (this.running) this.endSegment(at);
    this.reasons.add(reason);
  }

  resume(reason) {
    const wasStopped = !this.running;
    this.reasons.delete(reason);
    if (wasStopped && this.running) {
      this.synchronise();
      this.start = this.now();
    }
  }

  endSegment(at) {
    const end = Math.min(at, this.now());
    if (end > this.start) this.segments.push([this.start, end]);
  }

  /** Return all segments, with the one that is open. */
  allSegments() {
    const end = this.now();
    const open = this.running && end > this.start ? [[this.start, end]] : [];
    return [...this.segments, ...open];
  }

  /** Return all segments, stop the clock and reset it. */
  takeSegments() {
    this.stop("waiting");
    const segments = this.segments;
    this.segments = [];
    return segments;
  }

  get milliseconds() {
    return this.allSegments().reduce((sum, [start, end]) => sum + end - start, 0);
  }
}
