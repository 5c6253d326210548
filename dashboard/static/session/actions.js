// Actions on a session: buttons, the confirmation of a cancellation, the form of a message, answers to questions.

import { moment } from "../format.js";
import { act, make, runOnce } from "../page.js";

const LABELS = { activate: "Start", suspend: "Suspend", resume: "Resume", stop: "Stop after this turn", cancel: "Cancel…" };
const STYLES = { cancel: "btn-outline-danger" };

export class ActionsView {
  // `bar`: place of the buttons; `dialog`: confirmation; `post`: form of a message; `questions`: place of the answers.
  constructor({ bar, dialog, post, questions, status, path, changed }) {
    Object.assign(this, { bar, dialog, post, questions, status, path, changed });
    this.buttons = new Map(); // name of a possible action -> its button
    this.forms = new Map(); // id of an open question -> its form
    this.unanswered = null; // message that was sent without an answer: `{text, role, key}`
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "cancel-session") {
        this.run("cancel", dialog.querySelector("[value=cancel-session]"), { reason: dialog.querySelector("input").value.trim() || "cancelled" });
      }
    });
    post.addEventListener("submit", (event) => {
      event.preventDefault();
      this.sendPost();
    });
  }

  draw(session) {
    const focused = document.activeElement;
    const wasButton = this.bar.contains(focused);
    const wasHere = wasButton || this.post.contains(focused) || this.questions.contains(focused);
    this.drawButtons(session.actions.filter((name) => name in LABELS));
    this.post.hidden = !session.actions.includes("post");
    this.drawQuestions(session.questions);
    // The focus moves from an element that is gone to the first button if it was one of them, or to the line of the status.
    if (wasHere && !focused.checkVisibility()) {
      ((wasButton && this.bar.querySelector("button")) || this.status).focus({ preventScroll: true });
    }
  }

  // A button stays while its action is possible, with the focus.
  drawButtons(names) {
    for (const [name, button] of this.buttons) {
      if (names.includes(name)) continue;
      button.remove();
      this.buttons.delete(name);
    }
    names.forEach((name, index) => {
      if (this.buttons.has(name)) return;
      this.buttons.set(name, this.button(name));
      this.bar.insertBefore(this.buttons.get(name), this.bar.children[index] ?? null);
    });
  }

  // A form stays while its question is open, so that text which is being written is not lost.
  drawQuestions(questions) {
    const open = new Set(questions.map((it) => it.id));
    for (const [id, form] of this.forms) {
      if (open.has(id)) continue;
      form.remove();
      this.forms.delete(id);
    }
    for (const it of questions.filter(({ id }) => !this.forms.has(id))) {
      this.forms.set(it.id, this.question(it));
      this.questions.append(this.forms.get(it.id));
    }
  }

  button(name) {
    const button = make("button", { type: "button", class: `btn btn-sm ${STYLES[name] ?? "btn-outline-primary"}` }, LABELS[name]);
    button.addEventListener("click", () => (name === "cancel" ? this.confirm() : this.run(name, button)));
    return button;
  }

  confirm() {
    // Escape closes the dialog with the value of the last time.
    this.dialog.returnValue = "";
    this.dialog.showModal();
  }

  question(question) {
    const id = `answer-${question.id}`;
    const input = question.choices.length
      ? make("select", { class: "form-select", id, name: "text" }, ...question.choices.map(option))
      : make("textarea", { class: "form-control", id, name: "text", rows: "3", required: true });
    const by = make("select", { class: "form-select", name: "name", "aria-label": "Answer as" },
      ...question.asked.map(option));
    const until = question.until_ms ? `, until ${moment(question.until_ms)}` : "";
    const button = make("button", { type: "submit", class: "btn btn-primary" }, "Answer");
    const form = make("form", { class: "question" },
      make("label", { class: "form-label", for: id },
        `Turn ${question.turn}: ${question.text || `${question.participant} is asked for a ${question.expects}`}${until}`),
      input, make("div", { class: "question-row" }, by, button));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.run("reply", button, { question: question.id, name: by.value, text: input.value });
    });
    return form;
  }

  async sendPost() {
    const { text, role } = Object.fromEntries(new FormData(this.post));
    // The same key until the server has answered: a message that is sent again is written once, a changed one is another.
    if (this.unanswered?.text !== text || this.unanswered.role !== role) {
      this.unanswered = { text, role, key: crypto.randomUUID?.() ?? `${Date.now()}-${Math.random()}` };
    }
    if (!await this.run("post", this.post.querySelector("button"), this.unanswered)) return;
    this.unanswered = null;
    // What was written meanwhile stays.
    if (new FormData(this.post).get("text") === text) this.post.reset();
  }

  // Perform an action of a button and draw the session again; return whether it worked.
  async run(name, button, body = {}) {
    return runOnce(button, async () => {
      this.status.textContent = "Sending…";
      try {
        await act(`${this.path}/${name}`, body);
        this.status.textContent = `${name}: done`;
      } finally {
        await this.changed();
      }
    }).catch((error) => {
      this.status.textContent = `${name} failed: ${error.message}`;
      return false;
    });
  }
}

// The value is sent as it is, also where the text of the option shows invisible characters.
function option(value) {
  return make("option", { value }, value);
}
