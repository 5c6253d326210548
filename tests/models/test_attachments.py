"""Names, media types and limits of attachments, and their place in messages."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.jobs.attachments import file_names, find_attachment, save_attachments
from symposia.models.attachments import (
    MAX_BYTES,
    Attachment,
    check_attachments,
    guess_media_type,
    read_given,
)
from symposia.models.errors import AttachmentUnavailable, InvalidInput, SymposiaError
from symposia.models.protocol.dialog import Dialog, Message, Role
from symposia.models.text.ids import new_id

FILE = Attachment.of("a.txt", "text")
NAMES = st.text(max_size=300) | st.sampled_from(
    ["..", ".", "a/b", "a\\b", " a", "a\n", "CON", "~", "-rf", "\u202egnp.exe"]
)


@given(NAMES)
def test_accepted_names_stay_in_their_folder(name):
    try:
        file = Attachment.of(name, b"x")
    except InvalidInput:
        return
    folder = Path("/some/folder")
    path = folder / file_names([file])[0]
    assert path.parent == folder
    assert path.name not in ("", ".", "..")
    assert name.isprintable()


@given(
    st.lists(
        st.tuples(st.sampled_from(["a.txt", "A.txt", "a", "b" * 255]), st.binary(min_size=1, max_size=2)),
        max_size=8,
    )
)
def test_saved_names_differ(entries):
    files = tuple(dict.fromkeys(Attachment.of(name, data) for name, data in entries))
    names = file_names(files)
    assert len({name.casefold() for name in names}) == len(files)
    assert all(len(name.encode()) <= 255 for name in names)


@given(st.binary(min_size=1, max_size=100), NAMES)
def test_references_keep_all_but_the_bytes(mplp, data, name):
    try:
        file = Attachment.of(name, data)
    except InvalidInput:
        return
    message = Message(role=Role.USER, content="Look.").with_attachments([file])
    assert message.attachments == (file.reference(),)
    assert message.attachments[0].sha256 == sha256(data).hexdigest()
    assert Message.model_validate_json(message.to_json()) == message
    mplp.validate("dialog", Dialog(context_id=new_id(), messages=[message]).to_wire())


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        ("a.png", "image/png"),
        ("A.PDF", "application/pdf"),
        ("notes.md", "text/markdown"),
        ("a.tar.gz", "application/gzip"),
        ("data:text/html,x.png", "image/png"),
        ("unknown", "application/octet-stream"),
    ],
)
def test_media_type_follows_from_the_name(name, media_type):
    assert guess_media_type(name) == media_type


@pytest.mark.parametrize(
    "media_type", ["", "text", "text/", "Text/plain", "text/plain; charset=x", "a/b\n", "a/b/c"]
)
def test_bad_media_types_are_refused(media_type):
    with pytest.raises(InvalidInput, match="media_type: must be a media type"):
        Attachment.of("a.txt", "x", media_type=media_type)


def test_data_must_have_the_digest():
    with pytest.raises(ValueError, match="must have the size and the digest"):
        Attachment(name="a", size=1, sha256="0" * 64, data=b"x")


def test_broken_references_are_left_out():
    message = Message(role=Role.USER, content="x").with_attachments([FILE])
    event = message.event.changed(
        data={"attachments": [{"name": "../x"}, 7, *message.event.data["attachments"]]}
    )
    assert message.changed(event=event).attachments == (FILE.reference(),)


@pytest.mark.parametrize(
    "given_files", ["a.txt", Path("a.txt"), FILE, ["a.txt"], [None], [FILE.reference()], 7]
)
def test_only_paths_and_attachments_are_read(given_files):
    with pytest.raises(InvalidInput, match=r"^attachments"):
        read_given(given_files)


def test_limits_name_the_rule():
    with pytest.raises(InvalidInput, match=r"a\.txt.*|must be at most 3 bytes, and has 4 bytes"):
        check_attachments([FILE], max_bytes=3)
    with pytest.raises(InvalidInput, match="must be at most 20 for one message"):
        check_attachments([FILE] * 21, max_bytes=10)
    with pytest.raises(InvalidInput, match="must be 1 to"):
        Attachment.of("empty", b"")


def test_large_files_are_refused_without_reading_them(tmp_path):
    path = tmp_path / "large"
    with path.open("wb") as file:
        file.truncate(10**10)  # sparse
    with pytest.raises(InvalidInput, match="must be 1 to 100 bytes, and has 10000000000 bytes"):
        Attachment.read(path, max_bytes=100)


def test_no_given_file_is_dropped(tmp_path):
    """The same content counts once, however often it is given, and is in memory once."""
    (tmp_path / "large").write_bytes(bytes(MAX_BYTES - 1))
    (tmp_path / "small").write_bytes(b"1")
    (tmp_path / "more").write_bytes(b"2")
    large, small, more = (tmp_path / name for name in ("large", "small", "more"))
    found = read_given([large, large, large, small])
    assert [it.name for it in found] == ["large", "large", "large", "small"]
    assert found[0].data is found[2].data
    with pytest.raises(InvalidInput, match="together"):
        read_given([large, small, more, small])


def test_bytes_need_data_or_a_turn():
    assert FILE.load() == b"text"
    with pytest.raises(AttachmentUnavailable, match="it has no data, and no turn is running"):
        FILE.reference().load()


def test_nothing_is_saved_if_one_file_exists(tmp_path):
    other = Attachment.of("b.txt", "b")
    (tmp_path / "b.txt").write_text("mine")
    with pytest.raises(SymposiaError, match="exists already"):
        save_attachments([FILE, other], tmp_path, read=lambda it: it.data)
    assert {it.name: it.read_text() for it in tmp_path.iterdir()} == {"b.txt": "mine"}


def test_digest_finds_its_content_whatever_names_say():
    true, false = Attachment.of("a.txt", "true"), Attachment.of("b.txt", "false")
    disguised = Attachment.of(true.sha256, "false")
    assert find_attachment([true, disguised], true.sha256) == true
    assert find_attachment([false, disguised], true.sha256) == disguised


def test_failed_replacement_leaves_no_part_of_a_file(tmp_path):
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(InvalidInput, match="cannot be written: Is a directory"):
        save_attachments([Attachment.of("a.txt", "new")], tmp_path, read=Attachment.load, force=True)
    assert [it.name for it in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("force", [False, True])
def test_folder_that_cannot_be_made_gets_one_line(tmp_path, force):
    with pytest.raises(InvalidInput, match="cannot be written: File name too long"):
        save_attachments(
            [Attachment.of("a.txt", "a")], tmp_path / ("x" * 300), read=Attachment.load, force=force
        )


def test_force_replaces_a_link_and_not_its_target(tmp_path):
    (tmp_path / "mine").write_text("mine")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").symlink_to(tmp_path / "mine")
    save_attachments([Attachment.of("a.txt", "new")], folder, read=Attachment.load, force=True)
    assert (tmp_path / "mine").read_text() == "mine"
    assert [(it.name, it.is_symlink(), it.read_text()) for it in folder.iterdir()] == [
        ("a.txt", False, "new")
    ]


def test_missing_bytes_do_not_prevent_saving_other_files(tmp_path):
    lost, kept = Attachment.of("lost.txt", "lost").reference(), Attachment.of("kept.txt", "kept")
    with pytest.raises(
        AttachmentUnavailable, match=r"lost\.txt.*1 of 2 files have no bytes .* the others are saved"
    ):
        save_attachments([lost, kept], tmp_path, read=Attachment.load)
    assert [it.name for it in tmp_path.iterdir()] == ["kept.txt"]


def test_text_that_utf_8_cannot_carry_is_refused():
    with pytest.raises(InvalidInput, match="data: must be valid UTF-8 text"):
        Attachment.of("a.txt", "\ud800")
