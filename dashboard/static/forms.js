// Forms that change something while the page stays: they send their fields as JSON to the address in `data-act`.
import "./copy.js";
import { drop } from "./fragments.js";
import { act, make, runOnce } from "./page.js";

const line = document.getElementById("action-status");
let used = null; // button of the last action, which may go when the page shows the new state

document.addEventListener("submit", async (event) => {
  const { target: form, submitter: button } = event;
  const path = button?.dataset.act ?? form.dataset.act;
  if (!path) return;
  event.preventDefault();
  const problem = form.querySelector("[role=alert]");
  try {
    const hasRun = await runOnce(button, () => act(path, Object.fromEntries(new FormData(form, button))));
    if (!hasRun) return;
    used = button;
    form.reset();
    problem.textContent = "";
    line.textContent = button.dataset.done ?? form.dataset.done;
    const left = form.closest("[data-left]");
    if (left) drop(left);
  } catch (error) {
    problem.textContent = error.message;
  }
});

document.addEventListener("fragments", () => {
  if (used && !used.isConnected && document.activeElement === document.body) line.focus({ preventScroll: true });
  if (used && !used.isConnected) used = null;
});

// A text stays when its question is no longer open, unless it was the answer.
document.addEventListener("leave", (event) => {
  const question = event.target;
  const form = question.querySelector("form");
  if (!form?.querySelector("textarea")?.value.trim()) return;
  event.preventDefault();
  if ("left" in question.dataset) return;
  question.dataset.left = "";
  const isSending = form.querySelector("[aria-disabled]");
  if (isSending) return;
  form.querySelector("[role=alert]").textContent = "This question is no longer open. Your text was not sent.";
  const discard = make("button", { class: "btn btn-sm btn-outline-primary", type: "button" }, "Discard the text");
  discard.addEventListener("click", () => drop(question));
  form.querySelector(".actions").replaceChildren(discard);
});
