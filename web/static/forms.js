// Forms: the inputs of a session file, the answer to a question, and errors at the field that is wrong.
import { ApiError } from "./api.js";
import { make, visible } from "./nodes.js";

const MOST_RADIOS = 6;
const NUMBER = /^[-+]?(\d{1,18}(\.\d{0,100})?|\.\d{1,100})([eE][-+]?\d{1,3})?$/;
let used = 0; // ids of controls

// Run an action of a form once at a time, and show its error in one line: at the field if it names one.
export async function submit(form, line, action) {
  const button = form.querySelector("button:not([type=button])");
  if (button?.ariaDisabled === "true") return;
  for (const it of form.querySelectorAll("[aria-invalid]")) it.removeAttribute("aria-invalid");
  for (const it of form.querySelectorAll(".field-error")) it.textContent = "";
  if (button) button.ariaDisabled = "true";
  try {
    await action();
  } catch (error) {
    showError(form, line, error);
  } finally {
    if (button) button.ariaDisabled = null;
  }
}

function showError(form, line, error) {
  const others = [];
  let first = null;
  for (const it of error instanceof ApiError ? error.errors : []) {
    const name = String(it.field).replace(/^(body\.)?inputs\./, "");
    const field = form.querySelector(`[data-field="${CSS.escape(name)}"]`);
    if (!field) {
      others.push(`${it.field} ${it.rule}`);
      continue;
    }
    field.querySelector(".field-error").textContent = visible(`${name} ${it.rule}${it.value && it.value !== "nothing" ? ` (got ${it.value})` : ""}`);
    const controls = field.querySelectorAll("input, select, textarea");
    for (const control of controls) control.ariaInvalid = "true";
    first ??= controls[0];
  }
  if (!first || others.length) line.textContent = others.join("; ") || error.message;
  (first ?? form.querySelector("textarea, input:not([type=radio])"))?.focus();
}

export const radio = (name, value, text, isChecked) =>
  make("label", { class: "check" }, make("input", { type: "radio", name, value, checked: isChecked }), make("span", { dir: "auto" }, text));

// The field of one input. `value()` returns what it means in JSON: a text that is no value of the type as it is, for
// the server's message; undefined: nothing was typed.
export function inputField(input) {
  const id = `field-${++used}`;
  const about = { "aria-describedby": `${id}-help ${id}-error` };
  const help = make("p", { class: "muted", id: `${id}-help` }, input.description ?? "");
  const error = make("p", { class: "field-error", id: `${id}-error` });
  const mark = input.required ? make("span", { class: "required" }, " required") : null;
  const choices = input.choices?.length ? input.choices : null;
  let control;
  let value;
  let title = make("label", { for: id }, input.name, mark);
  if (choices && choices.length <= MOST_RADIOS) {
    const rows = choices.map((it, index) => radio(id, index, it, it === input.default));
    control = make("fieldset", about, make("legend", {}, input.name, mark), ...rows);
    title = null;
    value = () => choices[control.querySelector(":checked")?.value];
  } else if (choices) {
    const rows = choices.map((it, index) => make("option", { value: index, selected: it === input.default }, it));
    const none = input.required ? make("option", { value: "" }, "Choose …") : null;
    control = make("select", { id, ...about }, none, ...rows);
    value = () => choices[control.value === "" ? -1 : control.value];
  } else if (input.type === "boolean") {
    const box = make("input", { id, type: "checkbox", checked: input.default === true, ...about });
    control = make("span", { class: "check" }, box, make("label", { for: id }, input.name));
    title = null;
    value = () => box.checked;
  } else if (input.type === "string") {
    control = make("textarea", { id, rows: "1", dir: "auto", ...about }, input.default ?? "");
    value = () => (control.value === "" && input.default !== "" ? undefined : control.value);
  } else {
    const inputmode = input.type === "integer" ? "numeric" : "decimal";
    control = make("input", { id, inputmode, autocomplete: "off", value: input.default ?? "", ...about });
    value = () => {
      const text = control.value.trim();
      return text === "" ? undefined : NUMBER.test(text) ? Number(text) : text;
    };
  }
  const field = make("div", { class: "input", "data-field": input.name }, title, ...(title ? [help, control] : [control, help]), error);
  help.hidden = !help.textContent;
  return { field, name: input.name, value };
}

// The form for the answer to an open question. `reply(body)` sends it.
export function questionForm(question, reply) {
  const { asked, choices, tool } = question;
  const name = `question-${++used}`;
  const error = make("p", { class: "field-error", id: `${name}-error`, role: "alert" });
  const as = asked.length > 1 ? make("select", { "aria-label": "Answer as" }, ...asked.map((it) => make("option", { value: it }, it))) : null;
  const who = () => (as ? as.value : asked[0]);
  const isDecision = tool !== null || choices.join() === "approve,refuse";
  const text = choices.length || isDecision ? null : make("textarea", { id: name, rows: "2", dir: "auto", "aria-describedby": `${name}-error` });
  const radios = text || isDecision ? null : make("fieldset", {}, make("legend", {}, "Answer"), ...choices.map((it) => radio(name, it, it, false)));
  const button = (title, attributes) => make("button", { class: "button", ...attributes }, title);
  const buttons = isDecision
    ? [button("Approve", { value: "approve", class: "button primary" }), button("Refuse", { value: "refuse", class: "button danger" })]
    : [button("Send the answer", { value: "", class: "button primary" })];
  const form = make("form", { novalidate: true, "aria-label": `Answer of ${asked.join(" or ")} in turn ${question.turn_id}` },
    text ? make("label", { for: name }, "Answer") : null, text ?? radios, error, make("p", { class: "actions" }, as, ...buttons));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    submit(form, error, async () => {
      const verdict = event.submitter?.value;
      if (isDecision) return reply({ as: who(), approve: verdict === "approve" });
      const answer = radios ? radios.querySelector(":checked")?.value : text.value;
      if (!answer?.trim()) throw new Error(radios ? "Choose one of the answers." : "Write an answer.");
      return reply({ as: who(), text: answer });
    });
  });
  return { form, hasText: () => Boolean(text?.value.trim()), error };
}
