/** Stops the clock after a long time without activity, and opens a dialog that asks whether somebody is there. */
export class IdleDetector {
  constructor(clock, dialog) {
    this.clock = clock;
    this.dialog = dialog;
    this.idleMs = 60000;
    this.lastActivity = 0;
    this.timer = 0;
    for (const event of ["keydown", "pointermove", "pointerdown", "wheel", "scroll", "touchmove"])
      document.addEventListener(event, () => this.noteActivity(), { passive: true, capture: true });
    dialog.onClose = () => this.noteActivity();
  }

  /** Note activity: the clock goes on. */
  noteActivity() {
    if (!this.clock.running) return;
    const now = this.clock.now();
    if (now - Math.max(this.lastActivity, this.clock.start) > this.idleMs) {
      this.becomeIdle(); // the timer is late: the machine slept
      return;
    }
    this.lastActivity = now;
    if (!this.timer) this.watch(this.idleMs);
  }

  watch(ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = 0;
      if (!this.clock.running) return;
      const left = Math.max(this.lastActivity, this.clock.start) + this.idleMs - this.clock.now();
      if (left > 0) this.watch(left);
      else this.becomeIdle();
    }, ms);
  }

  /** Stop the clock at the end of the time that may have been reading. */
  becomeIdle() {
    this.clock.stop("idle", Math.max(this.lastActivity, this.clock.start) + this.idleMs);
    if (!this.dialog.open()) this.clock.resume("idle");
  }
}
