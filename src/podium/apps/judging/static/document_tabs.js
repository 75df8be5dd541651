const LEAST_SWIPE_PX = 50; // shorter movements are taps

/** On narrow screens one document is on screen: a tap on a tab or a swipe shows the other one. */
export class DocumentTabs {
  constructor({ tabs, pair, left, right }) {
    this.tabs = [...tabs.querySelectorAll("[data-side]")];
    this.titles = { left, right };
    this.pair = pair;
    this.scrolls = { left: 0, right: 0 };
    for (const tab of this.tabs) tab.addEventListener("click", () => this.show(tab.dataset.side));
    this.listenToSwipes();
  }

  get side() {
    return this.pair.dataset.side;
  }

  /** Show the first document of a new question, from its top. */
  reset() {
    this.scrolls = { left: 0, right: 0 };
    this.mark("left");
    for (const tab of this.tabs) {
      const title = this.titles[tab.dataset.side].querySelector("[data-title]").textContent;
      const number = tab.dataset.side === "left" ? 1 : 2;
      tab.querySelector("[data-tab-title]").textContent = title || `Document ${number}`;
    }
  }

  /** Show a document where it was read last. */
  show(side) {
    if (side === this.side) return;
    this.scrolls[this.side] = window.scrollY;
    this.mark(side);
    window.scrollTo(0, this.scrolls[side]);
  }

  mark(side) {
    this.pair.dataset.side = side;
    for (const tab of this.tabs) tab.setAttribute("aria-selected", String(tab.dataset.side === side));
  }

  listenToSwipes() {
    let start = null;
    this.pair.addEventListener("touchstart", (event) => {
      const isScrollable = event.target.closest("table, pre"); // these move sideways by themselves
      start = event.touches.length === 1 && !isScrollable ? event.touches[0] : null;
    }, { passive: true });
    this.pair.addEventListener("touchend", (event) => {
      if (!start) return;
      const [end] = event.changedTouches;
      const [across, down] = [end.clientX - start.clientX, end.clientY - start.clientY];
      start = null;
      if (Math.abs(across) < LEAST_SWIPE_PX || Math.abs(across) < 2 * Math.abs(down)) return;
      this.show(across < 0 ? "right" : "left");
    }, { passive: true });
  }
}
