"""Dialogs as message lists of model providers, and windows onto them."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

from protocol import values
from symposia.models.protocol.dialog import Dialog, Message, Role, build_turn_message
from symposia.models.text.ids import new_id, utcnow
from symposia.models.turns.message_lists import (
    Reader,
    estimate_tokens,
    recent_messages,
    to_anthropic_messages,
    to_openai_messages,
)

#: What OpenAI's own client takes as messages.
OPENAI = TypeAdapter(list[ChatCompletionMessageParam])


def dialog_of(*said):
    return Dialog(context_id=new_id(), messages=[Message(role=role, content=text) for role, text in said])


MIXED = dialog_of(
    (Role.SYSTEM, "Be kind."), (Role.USER, "Hi"), (Role.AGENT, "[A] hello"), (Role.SYSTEM, "Be brief."),
    (Role.AGENT, "[B] hi"), (Role.ASSISTANT, "ok"),
)  # fmt: skip


def test_openai_agents_are_assistants():
    assert to_openai_messages(MIXED) == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "[A] hello"},
        {"role": "system", "content": "Be brief."},
        {"role": "assistant", "content": "[B] hi"},
        {"role": "assistant", "content": "ok"},
    ]


def test_anthropic_system_messages_are_separate():
    assert to_anthropic_messages(MIXED) == (
        "Be kind.\n\nBe brief.",
        [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "[A] hello"},
            {"role": "assistant", "content": "[B] hi"},
            {"role": "assistant", "content": "ok"},
        ],
    )


def test_anthropic_system_prompt_may_be_empty():
    assert to_anthropic_messages(dialog_of((Role.USER, "Hi")))[0] == ""


@given(values.dialogs)
def test_no_content_is_lost_in_conversion(dialog):
    contents = [m.content for m in dialog.messages]
    assert [m["content"] for m in to_openai_messages(dialog)] == contents
    system, messages = to_anthropic_messages(dialog)
    shown = [m.content for m in dialog.messages if m.role is not Role.SYSTEM and m.content.strip()]
    assert len(messages) == len(shown)
    assert all(whole.rstrip() in m["content"] for m, whole in zip(messages, shown, strict=True))
    assert all(m.content in system for m in dialog.messages if m.role is Role.SYSTEM)


def turn_of(speaker, content, number=1):
    return build_turn_message(
        Role.AGENT, content, timestamp=utcnow(), participant_id=speaker, turn_number=number,
        token_id=new_id(), fence=number,
    )  # fmt: skip


SPOKEN = Dialog(
    context_id=new_id(), messages=[turn_of("coder", "Done."), turn_of("Prüfer 1", "[QA] Good.", 2), turn_of("coder", "", 3)]
)  # fmt: skip
READER = Reader({"coder": "Coder", "Prüfer 1": "QA"}, opening="Fix the login.")


def test_openai_messages_name_their_speakers():
    messages = to_openai_messages(SPOKEN, READER)
    assert messages[0] == {"role": "user", "content": "Fix the login."}
    names = [it["name"] for it in messages[1:]]
    assert names[0] == names[2] == "coder"
    assert re.fullmatch(r"Pr_fer_1_[0-9a-f]{8}", names[1])
    assert [it["role"] for it in messages[1:]] == ["assistant"] * 3


def test_anthropic_messages_begin_with_their_speaker():
    assert to_anthropic_messages(SPOKEN, READER)[1] == [
        {"role": "user", "content": "Fix the login."},
        {"role": "assistant", "content": "[Coder] Done."},
        {"role": "assistant", "content": "[QA] Good."},
    ]


def test_messages_as_one_participant_sees_them():
    reader = replace(READER, me="coder")
    assert to_anthropic_messages(SPOKEN, reader)[1] == [
        {"role": "user", "content": "Fix the login."},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": "[QA] Good."},
    ]
    assert [it["role"] for it in to_openai_messages(SPOKEN, reader)] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]


def test_messages_of_another_dialog_keep_their_names():
    earlier = Dialog(context_id=new_id(), messages=[it.as_history() for it in SPOKEN.messages])
    assert to_openai_messages(earlier, READER) == to_openai_messages(SPOKEN, READER)
    assert to_anthropic_messages(earlier, READER) == to_anthropic_messages(SPOKEN, READER)
    reader = replace(READER, me="coder")
    assert to_anthropic_messages(earlier, reader)[1][0] == {"role": "user", "content": "[Coder] Done."}


@given(values.dialogs, st.sampled_from([None, "a", "nobody"]))
def test_exports_are_accepted_by_the_apis(dialog, me):
    reader = Reader(me=me, opening="The purpose.")
    openai = OPENAI.validate_python(to_openai_messages(dialog, reader))
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", it["name"]) for it in openai if "name" in it)
    assert next(it["role"] for it in openai if it["role"] != "system") == "user"
    _, messages = to_anthropic_messages(dialog, reader)
    assert messages[0]["role"] == "user"
    assert all(it.keys() == {"role", "content"} and it["content"].strip() for it in messages)
    assert {it["role"] for it in messages} <= {"user", "assistant"}
    assert messages[-1]["role"] == "user" or messages[-1]["content"] == messages[-1]["content"].rstrip()


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), ("abcd", 1), ("abcde", 2), ("日本語", 3)])
def test_a_token_is_four_ascii_characters_or_another(text, tokens):
    assert estimate_tokens(text) == tokens


FIVE = dialog_of(*[(Role.USER, word) for word in ("one", "two", "three", "four", "five")])


@pytest.mark.parametrize(
    ("max_tokens", "words"),
    [
        (0, []),
        (3, []),
        (4, ["five"]),
        (8, ["four", "five"]),
        (12, ["four", "five"]),
        (99, ["one", "two", "three", "four", "five"]),
    ],
)
def test_window_holds_the_newest_messages_that_fit(max_tokens, words):
    assert [m.content for m in recent_messages(FIVE, max_tokens, len)] == words


def test_window_ends_before_a_message_that_is_too_long():
    dialog = dialog_of((Role.USER, "a"), (Role.USER, "b" * 100), (Role.USER, "c"))
    assert [m.content for m in recent_messages(dialog, 50, len)] == ["c"]


def test_window_accepts_bare_messages():
    assert recent_messages(FIVE.messages, 8, len) == recent_messages(FIVE, 8, len)


def windows_of_the_source(messages, max_tokens, estimate):
    """`getRecentMessages` of the Dialog module, section 6.2, line by line."""
    window, token_count = [], 0
    for message in reversed(messages):
        tokens = estimate(message.content)
        if token_count + tokens > max_tokens:
            break
        window.insert(0, message)
        token_count += tokens
    return window


@given(values.dialogs, st.integers(0, 60))
def test_window_matches_the_source_document(dialog, max_tokens):
    expected = windows_of_the_source(dialog.messages, max_tokens, estimate_tokens)
    assert recent_messages(dialog, max_tokens) == expected
