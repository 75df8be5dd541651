/** Whether somebody is there: without a sign of life for long the clock stops, and a veil asks. */
export class Presence {
  constructor(clock, veil) {
    this.clock = clock;
    this.veil = veil;
    this.idleMs = 60000;
    this.alive = 0; // when there was a sign of life
    this.timer = 0;
    for (const sign of ["keydown", "pointermove", "pointerdown", "wheel", "scroll", "touchmove"])
      document.addEventListener(sign, () => this.awake(), { passive: true, capture: true });
    veil.closed = () => this.awake();
  }

  /** A sign of life. */
  awake() {
    if (!this.clock.running) return;
    const now = this.clock.now();
    if (now - Math.max(this.alive, this.clock.start) > this.idleMs) {
      this.fallAsleep(); // the timer is late: the machine slept
      return;
    }
    this.alive = now;
    if (!this.timer) this.watch(this.idleMs);
  }

  watch(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = 0;
      if (!this.clock.running) return;
      const left = Math.max(this.alive, this.clock.start) + this.idleMs - this.clock.now();
      if (left > 0) this.watch(left);
      else this.fallAsleep();
    }, ms);
  }

  /** The time that may have been reading counts, no more. */
  fallAsleep() {
    this.clock.stop("idle", Math.max(this.alive, this.clock.start) + this.idleMs);
    if (!this.veil.open()) this.clock.go("idle");
  }
}
