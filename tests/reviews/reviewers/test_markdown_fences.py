"""Text in fences comes out as it went in."""

from hypothesis import given
from hypothesis import strategies as st

from symposia.reviews.reviewers.code import fence_text, fenced_blocks

lines = st.text(alphabet=st.sampled_from("`~ax \t\n"), max_size=60)


@given(text=lines, before=st.sampled_from(["", "Look at this:\n"]))
def test_any_text_is_read_back_as_it_was(text, before):
    ((info, body),) = fenced_blocks(f"{before}{fence_text(text, 'python app.py')}\nThat is all.")
    assert (info, body) == ("python app.py", text if text.endswith("\n") else f"{text}\n")


def test_unclosed_block_is_ignored():
    assert list(fenced_blocks("```python\nx")) == []
    assert list(fenced_blocks("````\n```\nx\n```")) == []


def test_several_blocks_are_returned_in_order():
    assert list(fenced_blocks("```a\n1\n```\ntext\n~~~\n```b\n2\n```")) == [("a", "1\n"), ("b", "2\n")]
