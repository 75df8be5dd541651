"use strict";
// Sorts a table by the column that is clicked, and highlights the ranker that is chosen in the legend.

function cellValue(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value ?? cell.textContent.trim();
}

function sortRows(table, column, descending) {
  const body = table.tBodies[0];
  const rows = [...body.rows].map((row) => {
    const text = cellValue(row, column);
    return { row, text, number: parseFloat(text.replaceAll(",", "")) };
  });
  const isNumeric = column > 0 && rows.some(({ number }) => !Number.isNaN(number));
  rows.sort((a, b) => {
    if (!isNumeric) return a.text.localeCompare(b.text) * (descending ? -1 : 1);
    // Rows without a number stay at the end.
    if (Number.isNaN(a.number) || Number.isNaN(b.number)) return Number.isNaN(a.number) - Number.isNaN(b.number);
    return (a.number - b.number) * (descending ? -1 : 1);
  });
  body.append(...rows.map(({ row }) => row));
}

function wrapInButton(element) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...element.childNodes);
  element.append(button);
  return button;
}

for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    wrapInButton(head).addEventListener("click", () => {
      const order = head.getAttribute("aria-sort");
      const descending = order ? order === "ascending" : column > 0;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", descending ? "descending" : "ascending");
      sortRows(table, column, descending);
    });
  });
}

const legend = document.querySelector(".legend");
const buttons = legend ? [...legend.children].map((item) => [item.dataset.series, wrapInButton(item)]) : [];
let chosen = null;

function highlight(series) {
  document.body.classList.toggle("choosing", series !== null);
  for (const part of document.querySelectorAll(".series")) {
    part.classList.toggle("on", part.dataset.series === series);
  }
}

for (const [series, button] of buttons) {
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => {
    chosen = chosen === series ? null : series;
    for (const [other, one] of buttons) one.setAttribute("aria-pressed", String(other === chosen));
    highlight(chosen);
  });
  button.addEventListener("pointerenter", () => highlight(series));
  button.addEventListener("pointerleave", () => highlight(chosen));
}
