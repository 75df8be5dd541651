/** The live parts of this page, as the server has them now; no reload, which could break off a click. */
export async function freshen() {
  const response = await fetch(location.pathname, { cache: "no-store", redirect: "error" });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const now = fresh.querySelector(`[data-live="${part.dataset.live}"]`);
    const used = part.contains(document.activeElement); // the focus stays where it is
    if (now && !used && now.innerHTML !== part.innerHTML)
      part.replaceChildren(...document.adoptNode(now).childNodes);
  }
}
