/*
 * The judging pages. A judgment is written down in the browser before it is sent, under an id made here,
 * and stays until the server has accepted it: sending it again is always safe, for the server keeps each id
 * once. The server alone decides what is asked next; the page shows it.
 */
import { startAdmin } from "./admin.js";
import { JudgePage } from "./judging.js";
import { startTasks } from "./tasks.js";

const main = document.querySelector("main");
const token = document.querySelector('meta[name="podium-token"]')?.content ?? "";
const { page } = main.dataset;
if (page === "judge") new JudgePage(main, token).start();
else if (page === "tasks") startTasks(token);
else if (page === "admin") startAdmin();
