// Repeated loading of pages without a stream, and the line that shows whether it works.

import { makeVisible, runOnce } from "./page.js";

const INTERVAL_MS = 10000;
const QUIET = new Set(["Live", "Updated every 10 s"]);
const dot = document.getElementById("live-dot");
const line = document.getElementById("live-status");

/** Show a line about the page; `failed`: it is an error. */
export function tell(text, failed = false) {
  const shown = makeVisible(text);
  if (line.textContent !== shown) line.textContent = shown;
  dot.classList.toggle("status-dot-error", failed);
  dot.classList.toggle("status-dot-live", !failed);
  // What works is said by the state of the data (health.js).
  line.parentElement.classList.toggle("visually-hidden", QUIET.has(shown));
}

/**
 * Load now, every 10 seconds, and when the page is shown again. Return a function that loads at once, and whose
 * promise is kept when a load that began after the call has ended.
 *
 * `words`: returns the line that is shown after it has worked.
 */
export function refresh(load, words = () => "Updated every 10 s") {
  let running = null;
  let next = null;
  async function run() {
    try {
      await load();
      tell(words());
    } catch (error) {
      tell(error.message, true);
    }
  }
  function reload() {
    if (running) {
      // What has changed since the request began would be missing.
      next ??= running.then(() => {
        next = null;
        return reload();
      });
      return next;
    }
    running = run().finally(() => { running = null; });
    return running;
  }
  setInterval(() => { if (!document.hidden) reload(); }, INTERVAL_MS);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) reload(); });
  reload();
  return reload;
}

/** Run the action of a button once; show its error. Return whether it ran and worked. */
export async function perform(button, action) {
  try {
    return await runOnce(button, action);
  } catch (error) {
    tell(error.message, true);
    return false;
  }
}
