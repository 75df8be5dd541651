/*
 * Starts the script of each page. A judgment is stored in the browser before it is sent, under an id made
 * here, and stays until the server has accepted it. Sending it again is always safe, for the server stores
 * each id once. The server alone decides which question comes next; the page shows it.
 */
import { startActions } from "./admin_actions.js";
import { startAdmin } from "./admin_page.js";
import { JudgePage } from "./judge_page.js";
import { startTasks } from "./tasks_page.js";

const main = document.querySelector("main");
const csrfToken = document.querySelector('meta[name="podium-token"]')?.content ?? "";
const { page } = main.dataset;
if (page === "judge") new JudgePage(main, csrfToken).start();
else if (page === "tasks") startTasks(csrfToken);
else if (page === "admin") startAdmin();
else if (page === "actions") startActions(csrfToken);
