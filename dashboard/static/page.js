// Values of the page, requests to its server, and small helpers that create elements.
// Text from sessions becomes text nodes only: nothing here parses HTML. `make` shows each of its characters.

import { isStale } from "./health.js";

const root = document.getElementById("dashboard");

/** URL prefix of Flower, such as "/flower", or "". */
export const base = root.dataset.base;
/** Whether the page may offer actions. */
export const allowsActions = "actions" in root.dataset;
/** Characters that a text must not contain on the page (views/visible.py). */
const INVISIBLE = new RegExp(root.dataset.invisible, "gu");
/** Attributes whose values a person sees or hears. */
const SHOWN = new Set(["title", "aria-label"]);

/** Perform an action; return its JSON. Throws Error with the server's line. */
export async function act(path, body = {}) {
  if (isStale()) throw new Error("The page is not up to date: buttons work again when Flower and Redis answer.");
  const response = await fetch(base + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-XSRFToken": root.dataset.token },
    body: JSON.stringify(body),
  });
  const answer = await response.json().catch(() => ({})); // that of a proxy may be another
  if (!response.ok) throw new Error(makeVisible(answer.error || `${response.status} ${response.statusText}`));
  return answer;
}

/** Buttons whose actions run. */
const running = new WeakSet();

/**
 * Run the action of a button, unless it runs already: a double click sends one request.
 *
 * The button is not `disabled` meanwhile, because that would lose the focus. Return whether the action ran.
 */
export async function runOnce(button, action) {
  if (running.has(button)) return false;
  running.add(button);
  button.setAttribute("aria-disabled", "true");
  try {
    await action();
    return true;
  } finally {
    running.delete(button);
    button.removeAttribute("aria-disabled");
  }
}

/** Return a new element, whose texts have visible characters only: `make("a", { class: "x", href: "/" }, "text", child)`. */
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, SHOWN.has(key) ? makeVisible(value) : value);
  }
  const present = children.filter((it) => it !== null && it !== undefined);
  element.append(...present.map((it) => (typeof it === "string" ? makeVisible(it) : it)));
  return element;
}

/** Return a text with "␛" for ESC and "\u202e" for a control of the writing direction, as `make_visible` of the server. */
export function makeVisible(text) {
  return String(text).replaceAll("\r\n", "\n").replace(INVISIBLE, picture);
}

function picture(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  return code <= 0xffff ? `\\u${code.toString(16).padStart(4, "0")}` : `\\U${code.toString(16).padStart(8, "0")}`;
}
