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


def submit(office, **how):
    agents = {"bob": "bob", "ann": "human"}
    job = office.submit("round_robin", agents, people=["ann"], stop={"max_turns": 1}, **how)
    office.work()
    return job


def hits(job):
    return [it.data for it in job.collab().events if it.event_type == "guard.hit"]


def test_names_of_files_are_checked(make_office):
    job = submit(make_office(GUARDS + agent("names", "attaches")))
    assert (list(job.messages()), len(hits(job))) == ([], 1)


def test_names_of_shown_files_are_checked(make_office):
    office = make_office(GUARDS + agent("early", "attaches"))
    file = Attachment.of("mess-plan.txt", "the plan")
    job = submit(office, messages=["see the file"], attachments=[file])
    assert [hit["when"] for hit in hits(job)] == ["before"]


def test_person_is_shown_all_that_is_written(make_office):
    job = submit(make_office(GUARDS + agent("tidy", "decides")))
    text = job.pending()[0].question.text
    assert "leave a mess" in text
    assert "[Attached file: plan.txt (text/plain, 8 bytes)]" in text
    assert '"doors":2' in text
    job.cancel()


def test_reason_of_a_schema_does_not_repeat_the_text(make_office):
    reply = '[agents.bob]\nkind = "scripted"\nguards = ["typed"]\nreplies = [\'{"key": "hidden"}\']\n'
    job = submit(make_office(GUARDS + reply))
    assert "hidden" not in str(job.collab().to_wire())
    assert hits(job)[0]["reason"].endswith('under the schema of the guard: properties.key.type: "integer"')


@pytest.mark.parametrize(("guards", "is_shown"), [("[]", True), ('["early"]', True), ('["tidy"]', False)])
@pytest.mark.real_models
def test_unchecked_answer_is_not_shown_to_readers(make_office, guards, is_shown):
    with StubModel() as model:
        model.answers(completion("what a fine mess of words"))
        tables = f'[models.stub]\nmodel = "stub"\nbase_url = "{model.url}"\n'
        bob = f'[agents.bob]\nkind = "llm"\nmodel = "stub"\nguards = {guards}\n'
        office = make_office(GUARDS + tables + bob)
        agents = {"bob": "bob", "ann": "human"}
        job = office.submit("round_robin", agents, people=["ann"], stop={"max_turns": 1})
        client = office.runtime.store.client
        client.set(session_key(job.id, "listening"), 1)
        office.work()
        if is_shown:
            until(lambda: client.exists(session_key(job.id, "deltas")), what="the answer is shown")
        else:
            assert job.pending()
            assert not client.exists(session_key(job.id, "deltas"))
            job.cancel()
        client.delete(session_key(job.id, "listening"))


@pytest.mark.parametrize(("guard", "messages"), [("early", ["a door"]), ("tidy", [])])
def test_uncorrected_output_is_readable_if_no_guard_checks_it(make_office, guard, messages):
    office = make_office(GUARDS + agent(guard, "fails_to_correct"))
    job = submit(office, output={"type": "object"}, policy={"attempts": 1, "then": "skip"})
    assert [it.content for it in job.messages()] == messages
