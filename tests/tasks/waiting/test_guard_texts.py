"""What guards read of an answer, and where a refused text may be read."""

from __future__ import annotations

import pytest

from live import until
from servers.model_stub import StubModel, completion
from symposia.models.attachments import Attachment
from symposia.state.redis.keys import session_key

GUARDS = """
[guards.names]
kind = "deny"
words = ["mess"]
then = "skip"

[guards.tidy]
kind = "deny"
words = ["mess"]
then = "park"
to = "ann"

[guards.typed]
kind = "schema"
schema = { type = "object", properties = { key = { type = "integer" } } }
then = "skip"

[guards.early]
kind = "deny"
words = ["mess"]
when = "before"
then = "skip"
"""


def agent(guard, function):
    return (
        f'\n[agents.bob]\nkind = "python"\nguards = ["{guard}"]\ncallable = "stub_agents.guards:{function}"\n'
    )


def submit(installation, **how):
    agents = {"bob": "bob", "ann": "human"}
    job = installation.submit("round_robin", agents, people=["ann"], stop={"max_turns": 1}, **how)
    installation.work()
    return job


def hits(job):
    return [it.data for it in job.collab().events if it.event_type == "guard.hit"]


def test_names_of_files_are_checked(make_installation):
    job = submit(make_installation(GUARDS + agent("names", "attaches")))
    assert (list(job.messages()), len(hits(job))) == ([], 1)


def test_names_of_shown_files_are_checked(make_installation):
    installation = make_installation(GUARDS + agent("early", "attaches"))
    file = Attachment.of("mess-plan.txt", "the plan")
    job = submit(installation, messages=["see the file"], attachments=[file])
    assert [hit["when"] for hit in hits(job)] == ["before"]


def test_person_is_shown_all_that_is_written(make_installation):
    job = submit(make_installation(GUARDS + agent("tidy", "decides")))
    text = job.pending()[0].question.text
    assert "leave a mess" in text
    assert "[Attached file: plan.txt (text/plain, 8 bytes)]" in text
    assert '"doors":2' in text
    job.cancel()


def test_reason_of_a_schema_does_not_repeat_the_text(make_installation):
    reply = '[agents.bob]\nkind = "scripted"\nguards = ["typed"]\nreplies = [\'{"key": "hidden"}\']\n'
    job = submit(make_installation(GUARDS + reply))
    assert "hidden" not in str(job.collab().to_wire())
    assert hits(job)[0]["reason"].endswith('under the schema of the guard: properties.key.type: "integer"')


@pytest.mark.parametrize(("guards", "is_shown"), [("[]", True), ('["early"]', True), ('["tidy"]', False)])
@pytest.mark.real_models
def test_unchecked_answer_is_not_shown_to_readers(make_installation, guards, is_shown):
    with StubModel() as model:
        model.answers(completion("what a fine mess of words"))
        tables = f'[models.stub]\nmodel = "stub"\nbase_url = "{model.url}"\n'
        bob = f'[agents.bob]\nkind = "llm"\nmodel = "stub"\nguards = {guards}\n'
        installation = make_installation(GUARDS + tables + bob)
        agents = {"bob": "bob", "ann": "human"}
        job = installation.submit("round_robin", agents, people=["ann"], stop={"max_turns": 1})
        client = installation.runtime.store.client
        client.set(session_key(job.id, "listening"), 1)
        installation.work()
        if is_shown:
            until(lambda: client.exists(session_key(job.id, "deltas")), what="the answer is shown")
        else:
            assert job.pending()
            assert not client.exists(session_key(job.id, "deltas"))
            job.cancel()
        client.delete(session_key(job.id, "listening"))


@pytest.mark.parametrize(("guard", "messages"), [("early", ["a door"]), ("tidy", [])])
def test_uncorrected_output_is_readable_if_no_guard_checks_it(make_installation, guard, messages):
    installation = make_installation(GUARDS + agent(guard, "fails_to_correct"))
    job = submit(installation, output={"type": "object"}, policy={"attempts": 1, "then": "skip"})
    assert [it.content for it in job.messages()] == messages
