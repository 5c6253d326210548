"""Files of messages in the requests of a model, against a real HTTP server."""

from __future__ import annotations

import base64
import json

import pytest

from scaling import patient
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.attachments import MAX_TEXT_BYTES, takes
from symposia.agents.llm.clients import Endpoint
from symposia.agents.llm.settings import LLMSettings, ModelSource
from symposia.models.attachments import Attachment
from symposia.models.errors import AttachmentUnavailable
from symposia.models.protocol.dialog import Message, Role

pytestmark = pytest.mark.real_models

PICTURE = bytes(range(256))
FILES = (
    Attachment.of("a.png", PICTURE),
    Attachment.of("notes.txt", "These are notes."),
    Attachment.of("b.zip", b"zip"),
)


class Reader:
    """A reader of these files, which counts its calls."""

    def __init__(self, *files):
        self.data = {it.sha256: it.data for it in files}
        self.read_names = []

    def read(self, name, sha256):
        self.read_names.append(name)
        try:
            return self.data[sha256]
        except KeyError:
            raise AttachmentUnavailable(name, why="it is gone") from None


@pytest.fixture
def ask(runner, turn, message, model):
    def asked(*files, reader=None, said=None, later=(), is_opening=False, **settings):
        said = said or message("bob", "Look.", 1)
        said = said.with_attachments([it.reference() for it in files])
        agent = LLMAgent(
            lambda: [ModelSource(Endpoint("stub", model.url))], LLMSettings(retries=0, **settings)
        )
        opening = [said] if is_opening else []
        context = turn(messages=[said, *later], opening=opening, timeout_s=patient(10))
        running = runner.start(
            agent, context, timeout_s=context.timeout_s, attachments=reader or Reader(*files)
        )
        running.result()
        return model.asked[-1].body["messages"][-1]["content"]

    return asked


def test_models_get_files_after_their_message(ask):
    _, text, name, picture, request = ask(*FILES, attachments=(("image/*",),))
    assert "[Attached file: a.png (image/png, 256 bytes)]" in text["text"]
    assert "[Attached file: b.zip (application/zip, 3 bytes)]" in text["text"]
    assert name["text"] == "File a.png:"
    url = picture["image_url"]["url"]
    assert base64.b64decode(url.removeprefix("data:image/png;base64,")) == PICTURE
    assert request["text"].startswith("<turn")


def test_opening_of_a_cut_dialog_keeps_its_files(ask, message):
    opening = Message(role=Role.USER, content="Describe it.")
    later = [message("bob", f"{number} " + "x" * 400, number) for number in range(2, 9)]
    files = {"attachments": (("image/*",),), "context_tokens": 420}
    task, name, picture, *rest = ask(FILES[0], said=opening, is_opening=True, later=later, **files)
    assert "Describe it.\n[Attached file: a.png" in task["text"]
    assert name["text"] == "File a.png:"
    assert picture["type"] == "image_url"
    assert "earlier messages" in rest[0]["text"]


def test_models_that_take_no_files_read_their_names(ask):
    reader = Reader(*FILES)
    content = ask(*FILES, reader=reader)
    assert isinstance(content, str)
    assert "b.zip" in content
    assert reader.read_names == ["notes.txt"]


def test_small_text_files_are_part_of_the_message(ask):
    large = Attachment.of("large.txt", "x" * (MAX_TEXT_BYTES + 1))
    content = ask(FILES[1], large)
    assert "These are notes.\n[End of file notes.txt]" in content
    assert "xxx" not in content


def test_files_need_every_model_of_the_chain(ask):
    assert isinstance(ask(FILES[0], attachments=(("image/*",), ())), str)


def test_missing_files_are_only_named(ask):
    content = ask(*FILES, reader=Reader(), attachments=(("image/*",),))
    assert isinstance(content, str)
    assert "a.png" in content


@pytest.mark.parametrize(
    ("patterns", "taken"),
    [(("image/*",), True), (("image/png",), True), (("image/pn",), False), (("*/*",), False), ((), False)],
)
def test_media_types_match_exactly_or_as_a_group(patterns, taken):
    assert takes(patterns, "image/png") is taken


def test_journal_of_a_turn_holds_no_files(runner, turn, message, model):
    from symposia.agents.agent import InMemoryCallJournal, TurnServices

    journal = InMemoryCallJournal()
    big = Attachment.of("a.png", PICTURE * 400)
    said = message("bob", "Look.", 1).with_attachments([big.reference()])
    agent = LLMAgent(
        lambda: [ModelSource(Endpoint("stub", model.url))],
        LLMSettings(retries=0, attachments=(("image/*",),)),
    )
    context = turn(messages=[said], timeout_s=patient(10))
    for _ in range(2):  # the second attempt finds the answer of the first
        services = TurnServices(journal)
        runner.start(
            agent,
            context,
            timeout_s=context.timeout_s,
            turn_services=services,
            attachments=Reader(big),
        ).result()
    assert len(model.asked) == 1
    assert len(json.dumps(journal.calls)) < 5_000
