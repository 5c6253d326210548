"""A follower of all updates reads every page before the end."""

from __future__ import annotations

from sessions.table import Table
from symposia.models.sessions.plan import Finish
from symposia.state.redis.readers import END_MARK, PAGE, read_batches
from symposia.state.streams.updates import StoredUpdate, UpdateCursor, UpdateReader


def test_end_comes_after_all_messages_of_its_millisecond(table: Table):
    texts = [str(number) for number in range(PAGE + 2)]
    grant = table.grant(table.plan_one())
    table.commit(grant, *texts, then=table.write(Finish(reason="satisfied"), after=grant.number))
    reader, updates = UpdateReader(table.id, UpdateCursor()), []
    while not reader.has_ended:
        batches = read_batches(table.client.xread(reader.positions(), count=PAGE))
        assert batches
        updates += [update for update in reader.take(batches) if isinstance(update, StoredUpdate)]
    assert [update.stream for update in updates].count("dialog") == len(texts)
    assert END_MARK in updates[-1].text
    assert len({(update.stream, update.entry_id) for update in updates}) == len(updates)
