/** Replace the live parts of this page by those of the server; a reload could interrupt a click. */
export async function refreshLiveParts() {
  const response = await fetch(location.pathname, { cache: "no-store", redirect: "error" });
  if (!response.ok) throw new Error(`status ${response.status}`);
  const newPage = new DOMParser().parseFromString(await response.text(), "text/html");
  for (const part of document.querySelectorAll("[data-live]")) {
    const newPart = newPage.querySelector(`[data-live="${part.dataset.live}"]`);
    const hasFocus = part.contains(document.activeElement); // keep a part that is in use
    if (newPart && !hasFocus && newPart.innerHTML !== part.innerHTML)
      part.replaceChildren(...document.adoptNode(newPart).childNodes);
  }
}
