"""The page of an answer link as HTML: no script, no request to another host, all text escaped."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import Final

from ..client.notices.answering import LinkedQuestion, LinkState
from ..models.protocol.dialog import Message
from ..models.text.redact import excerpt
from ..models.text.words import deadline_in_words
from ..models.turns.waiting import Pending

#: Maximum characters of a message before the question.
_MAX_MESSAGE = 4_000

_CSS: Final = """
:root { color-scheme: light dark; --line: #d0d4da; --soft: #f4f5f7; --text: #1b1f24; --quiet: #57606a; --main: #0b5cad; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a4048; --soft: #1d2126; --text: #e6e8eb; --quiet: #9aa4af; --main: #6cb0f5; }
  body { background: #14171b; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 44rem; padding: 1.25rem; color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.25rem; } h2 { font-size: 1rem; }
p, blockquote { margin: 0 0 1rem; } .quiet { color: var(--quiet); }
.text { white-space: pre-wrap; }
.question { border-left: 4px solid var(--main); padding: .25rem 0 .25rem 1rem; font-size: 1.1rem; }
ol { list-style: none; padding: 0; } li { background: var(--soft); border: 1px solid var(--line);
  border-radius: 6px; padding: .6rem .9rem; margin: 0 0 .6rem; }
textarea { width: 100%; min-height: 9rem; font: inherit; padding: .6rem; border: 1px solid var(--line); border-radius: 6px; }
button { font: inherit; padding: .6rem 1.2rem; margin: .5rem .5rem 0 0; border: 1px solid var(--main);
  border-radius: 6px; background: transparent; color: var(--main); cursor: pointer; min-height: 2.75rem; }
button:focus-visible, textarea:focus-visible { outline: 3px solid var(--main); outline-offset: 2px; }
.error { border: 1px solid #c62828; border-radius: 6px; padding: .6rem .9rem; }
"""
_CSS_HASH = b64encode(sha256(_CSS.encode()).digest()).decode()

#: Headers of every answer of the page.
HEADERS: Final = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        f"default-src 'none'; style-src 'sha256-{_CSS_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    # The address is a secret. `no-referrer` would make browsers send `Origin: null` with the form.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex, nofollow",
}
_STATES = {
    LinkState.WITHDRAWN: "This question was withdrawn: another person is asked, or the session needs no answer any more.",
    LinkState.EXPIRED: "The time to answer this question is over.",
}


def invalid_page() -> str:
    """Return the page of a link that is not genuine."""
    return _page("Link not valid", "<p>This link is not valid. Open it exactly as it was sent to you.</p>")


def question_page(linked: LinkedQuestion, *, error: str = "", typed: str = "") -> str:
    """Return the page of a question.

    Args:
        linked: The question.
        error: Why the answer was not taken.
        typed: The answer that was not taken.
    """
    parts = [f"<p class=error role=alert>{escape(error)}</p>" if error else ""]
    if linked.pending is None:
        parts.append(f"<p>{escape(_closed_text(linked))}</p>")
        return _page(linked.title or "Question", "".join(parts))
    parts += [_question(linked.pending, linked.person), _form(linked.pending, typed)]
    if linked.messages:
        items = "".join(map(_message, linked.messages))
        parts.append(f"<h2>Last messages of the session</h2><ol>{items}</ol>")
    return _page(linked.title, "".join(parts))


def answered_page(linked: LinkedQuestion) -> str:
    """Return the page after an answer."""
    return _page(linked.title, "<p role=status>Thank you. Your answer was sent.</p>")


def _closed_text(linked: LinkedQuestion) -> str:
    if linked.state is LinkState.ANSWERED:
        by = "you" if linked.answered_by == linked.person else linked.answered_by
        return f"This question was answered by {by}."
    return _STATES[linked.state]


def _question(pending: Pending, person: str) -> str:
    asks = f"It is your turn, {person}." if pending.is_own else f"{pending.participant} asks {person}:"
    text = escape(pending.question.text)
    question = f"<blockquote class='question text'>{text}</blockquote>" if text.strip() else ""
    until = "" if pending.until is None else f"<p class=quiet>{escape(deadline_in_words(pending.until))}</p>"
    return f"<p>{escape(asks)}</p>{question}{until}"


def _form(pending: Pending, typed: str) -> str:
    if pending.question.choices:
        fields = "".join(
            f"<button name=text value='{escape(choice)}'>{escape(choice)}</button>"
            for choice in pending.question.choices
        )
    else:
        hint = "<p class=quiet>PASS skips your turn.</p>" if pending.is_own else ""
        fields = (
            f"<label for=text>Your answer</label><textarea id=text name=text required>\n{escape(typed)}</textarea>"
            f"{hint}<button>Send</button>"
        )
    return f"<form method=post accept-charset=utf-8>{fields}</form>"


def _message(message: Message) -> str:
    author = escape(message.author or message.role.value)
    return f"<li><strong>{author}</strong><div class=text>{escape(excerpt(message.content, _MAX_MESSAGE))}</div></li>"


def _page(title: str, body: str) -> str:
    shown = escape(title)
    return (
        "<!doctype html><html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content='width=device-width, initial-scale=1'>"
        f"<title>{shown}</title><style>{_CSS}</style></head>"
        f"<body><main><h1>{shown}</h1>{body}</main></body></html>"
    )
