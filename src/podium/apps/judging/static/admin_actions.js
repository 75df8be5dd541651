import { makeElement, uiElement } from "./elements.js";

/** Start a page of the admin: each form sends its fields as JSON, then the page loads again. */
export function startActions(csrfToken) {
  document.querySelector("main").inert = false; // before this, a form would do nothing
  for (const form of document.querySelectorAll("form[data-post]")) sendBy(form, csrfToken);
  for (const select of document.querySelectorAll("select[data-submits]"))
    select.addEventListener("change", () => select.form.requestSubmit());
  uiElement("linkClose")?.addEventListener("click", () => location.reload());
  uiElement("linkDialog")?.addEventListener("close", () => location.reload());
  uiElement("linkCopy")?.addEventListener("click", () => {
    uiElement("linkText").select();
    navigator.clipboard?.writeText(uiElement("linkText").value);
  });
  showMessage(sessionStorage.getItem("podium/message") ?? "");
  sessionStorage.removeItem("podium/message");
}

/** Send a form's fields when it is submitted. */
function sendBy(form, csrfToken) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(form, event.submitter, csrfToken);
  });
}

async function submit(form, submitter, csrfToken) {
  const { confirm: question, post, says } = form.dataset;
  if (question && !window.confirm(question)) {
    form.reset();
    return;
  }
  let response;
  try {
    response = await fetch(post, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Podium-Token": csrfToken },
      body: JSON.stringify(fieldsOf(form, submitter)),
      redirect: "error",
      cache: "no-store",
    });
  } catch {
    showMessage("The server does not answer. Nothing was changed; try again.");
    return;
  }
  if (!response.ok) {
    const answer = await response.json().catch(() => ({}));
    form.reset();
    showMessage(answer.error?.message ?? `The server refused this: error ${response.status}.`);
  } else if ("downloads" in form.dataset) {
    await download(response);
  } else {
    const answer = await response.json();
    if ("stays" in form.dataset) {
      form.hidden = true;
      showMessage(fill(says, answer));
      return;
    }
    if (says) sessionStorage.setItem("podium/message", fill(says, answer));
    if (answer.link) showLink(answer, csrfToken);
    else location.reload();
  }
}

/** Return the fields of a form: lists, numbers and groups as their elements say. */
function fieldsOf(form, submitter) {
  const fields = {};
  const elements = [...form.elements].filter((element) => element.name && element.type !== "submit");
  for (const element of submitter?.name ? [...elements, submitter] : elements) {
    const { kind, group } = element.dataset;
    if (group) {
      fields[group] ??= {};
      if (element.value.trim()) fields[group][element.name] = element.value.trim();
    } else if (kind === "list") (fields[element.name] ??= []).push(element.value);
    else fields[element.name] = kind === "number" ? Number(element.value) : element.value;
  }
  return fields;
}

/** Return a text with the answer's fields in place of {field}. */
const fill = (text, answer) =>
  text.replace(/\{([\w.]+)\}/g, (_, path) => path.split(".").reduce((value, name) => value?.[name], answer));

function showMessage(text) {
  const isDialogOpen = uiElement("linkDialog")?.open; // it covers the rest of the page
  const place = (isDialogOpen && uiElement("dialogMessage")) || uiElement("actionError");
  place.textContent = text;
  place.hidden = !text;
  if (text) place.scrollIntoView({ block: "nearest" });
}

function showLink({ assessor, link }, csrfToken) {
  uiElement("linkOwner").textContent = assessor;
  uiElement("linkText").value = link;
  if (!hasTasks(assessor)) offerTasks(assessor, csrfToken);
  uiElement("linkDialog").showModal();
}

/** Return whether the page lists tasks of an assessor; a new one is not on the page. */
const hasTasks = (assessor) =>
  [...document.querySelectorAll("tr[data-member]")].some(
    (row) => row.dataset.member === assessor && !row.querySelector('a[href="#give-queries"]'),
  );

/** Say in the dialog that an assessor has no tasks, and offer all queries. */
function offerTasks(assessor, csrfToken) {
  uiElement("linkTasks").replaceChildren(uiElement("noTasks").content.cloneNode(true));
  uiElement("linkIdle").textContent = assessor;
  uiElement("linkAssessor").value = assessor;
  sendBy(uiElement("linkTasks").querySelector("form"), csrfToken);
}

/** Save the file of an answer, by the name that the server gives it. */
async function download(response) {
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1] ?? "export";
  const link = makeElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
