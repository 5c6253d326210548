// Forms that change something while the page stays: they send their fields as JSON to the address in `data-act`.
import "./fragments.js";
import { act, make, runOnce } from "./page.js";

document.addEventListener("submit", async (event) => {
  const { target: form, submitter: button } = event;
  const path = button?.dataset.act ?? form.dataset.act;
  if (!path) return;
  event.preventDefault();
  const problem = form.querySelector("[role=alert]");
  const line = document.getElementById("action-status");
  try {
    const hasRun = await runOnce(button, () => act(path, Object.fromEntries(new FormData(form, button))));
    if (!hasRun) return;
    form.reset();
    problem.textContent = "";
    line.textContent = button.dataset.done ?? form.dataset.done;
  } catch (error) {
    problem.textContent = error.message;
  }
});

// A text that is being written stays when its question has been closed by others.
document.addEventListener("leave", (event) => {
  const draft = event.target.querySelector("textarea");
  if (!draft?.value.trim()) return;
  event.preventDefault();
  draft.form.querySelector("[role=alert]").textContent = "This question is no longer open. Your text was not sent.";
  const discard = make("button", { class: "btn btn-sm btn-outline-primary", type: "button" }, "Discard the text");
  discard.addEventListener("click", () => event.target.remove());
  draft.form.querySelector(".actions").replaceChildren(discard);
});
