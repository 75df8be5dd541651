"""Checks of pages for everybody: scripts that return the elements of a page with a problem."""

CONTRAST = """
() => {
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const e of document.querySelectorAll("body *")) {
    const text = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!text || !e.checkVisibility() || e.closest("svg, :disabled, .hidden-text, .skip")) continue;
    const pair = [light(parse(getComputedStyle(e).color)), light(ground(e))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (ratio < 4.5) found.push([e.tagName, e.className, e.textContent.trim().slice(0, 30), ratio]);
  }
  return found;
}
"""

"""Texts with too little contrast to their ground (WCAG 2.1: 4.5)."""

NAMELESS = """
() => [...document.querySelectorAll("a, button, input, textarea, progress, img, svg")]
  .filter((e) => e.checkVisibility() && !(e.textContent.trim() || e.labels?.length || e.ariaLabel
    || e.getAttribute("aria-labelledby") || e.alt)).map((e) => e.outerHTML)
"""

"""Visible controls and images without a name."""

TWICE = "() => [...document.querySelectorAll('[id]')].map(e => e.id).filter((x, i, a) => a.indexOf(x) < i)"
"""Ids that several elements have."""
