// Buttons of a page whose parts are fragments: `data-post` is the address of an action, `data-copy` a text to copy.
import "./fragments.js";
import { act, runOnce } from "./page.js";

const line = document.getElementById("action-status");

async function copy(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy); // there is no clipboard without TLS
    button.textContent = "copied";
  } catch {
    button.textContent = button.dataset.copy;
    getSelection().selectAllChildren(button);
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-post], [data-copy]");
  if (!button) return;
  if (button.dataset.copy) {
    await copy(button);
    return;
  }
  try {
    if (await runOnce(button, () => act(button.dataset.post))) line.textContent = `${button.textContent}: done`;
  } catch (error) {
    line.textContent = `${button.textContent} failed: ${error.message}`;
  }
  line.focus({ preventScroll: true }); // the button may go with the new state
});
