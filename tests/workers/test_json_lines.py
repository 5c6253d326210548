"""JSON log lines: fields, redaction, control characters, lines of other programs."""

from __future__ import annotations

import json
import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import pytest

from symposia.models.text.ids import attempt_span_id
from symposia.state.log_context import add_to_log_context, current_log_context, log_context
from symposia.workers.logs import JsonFormatter, Redaction, quiet_libraries, redact_line, service_line

SESSION = "0c6f6b0e-4a5e-4d0f-9d3c-2f4f3c1a9b10"


def line_of(message: str, *args: object, secrets: tuple[str, ...] = (), **more: object) -> dict[str, object]:
    redaction = Redaction(secrets)
    record = logging.getLogger("symposia.some").makeRecord(
        "symposia.some", logging.WARNING, "file", 1, message, args, more.pop("exc_info", None), extra=more
    )
    redaction.filter(record)
    text = JsonFormatter(redaction).format(record)
    assert "\n" not in text
    return json.loads(text)


def test_fields_of_a_record_outside_sessions():
    line = line_of("archiving %s failed", "x")
    assert line.pop("time").endswith("Z")
    assert line == {"level": "WARNING", "logger": "symposia.some", "message": "archiving x failed"}


def test_fields_of_a_turn():
    with log_context(SESSION, 3, "ann"):
        add_to_log_context(attempt=2, agent="claude")
        line = line_of("text")
    assert {name: line[name] for name in ("session", "turn", "participant", "attempt", "agent")} == {
        "session": SESSION,
        "turn": 3,
        "participant": "ann",
        "attempt": 2,
        "agent": "claude",
    }
    assert current_log_context() is None


def test_log_lines_name_trace_and_span_if_traced():
    record = logging.makeLogRecord({"msg": "text"})
    with log_context(SESSION, 3, "ann", attempt=2):
        line = json.loads(JsonFormatter(Redaction(()), traced=True).format(record))
    assert line["trace_id"] == SESSION.replace("-", "")
    assert line["span_id"] == attempt_span_id(SESSION, 3, 2)


def test_context_reaches_threads_that_copy_it():
    with log_context(SESSION), ThreadPoolExecutor(1) as pool:
        assert pool.submit(copy_context().run, line_of, "text").result()["session"] == SESSION


def test_an_exception_is_a_field():
    try:
        raise ValueError("hunter22 is wrong")
    except ValueError:
        line = line_of("it failed", exc_info=sys.exc_info(), secrets=("hunter22",))
    assert line["message"] == "it failed"
    assert line["exception"].startswith("Traceback")
    assert line["exception"].endswith("ValueError: *** is wrong")


def test_agent_traceback_is_a_field_of_the_log_line():
    line = line_of("turn 1 failed: %s%s", "no disk", "\nTraceback\n  x", agent_traceback="Traceback\n  x")
    assert (line["message"], line["exception"]) == ("turn 1 failed: no disk", "Traceback\n  x")


def test_secrets_and_controls_are_hidden_in_log_fields():
    with log_context(SESSION, 1, "ann hunter22"):
        line = line_of("redis://u:other@host \x1b[31m\u202e", secrets=("hunter22",))
        text = JsonFormatter(Redaction(())).format(
            logging.makeLogRecord({"msg": "\x1b[31m\u202e\x9b\x00", "created": 0.0})
        )
    assert line["message"].startswith("redis://u:***@host")
    assert line["participant"] == "ann ***"
    assert text.isprintable()


def test_lines_of_celery_name_their_task_and_turn():
    data = {
        "id": "t1",
        "name": "symposia.turn",
        "kwargs": f"session={SESSION} mode=pair turn=4 participant=ann b",
    }
    line = line_of("Task received", data=data)
    assert [line[name] for name in ("task", "task_id", "session", "turn", "participant")] == [
        "symposia.turn",
        "t1",
        SESSION,
        4,
        "ann b",
    ]
    planning = line_of("Task received", data={**data, "kwargs": f"session={SESSION}"})
    assert (planning["session"], "turn" in planning) == (SESSION, False)


@pytest.mark.parametrize("line", ["plain text", "{ no json", "[1]", '{"a": 1} and more'])
def test_other_output_becomes_the_message_of_a_record(line):
    fields = service_line("worker1", line)
    assert (fields["message"], fields["service"], fields["level"]) == (line, "worker1", "INFO")


def test_json_line_gets_the_service():
    assert service_line("beat", '{"message": "x", "turn": 1}') == {
        "message": "x",
        "turn": 1,
        "service": "beat",
    }


def test_redaction_of_a_json_line_keeps_it_valid():
    line = redact_line('{"message": "at redis://u:pw@host/0?token=abc", "turn": 1}')
    assert json.loads(line) == {"message": "at redis://u:***@host/0?token=***", "turn": 1}
    assert redact_line("at redis://u:pw@host") == "at redis://u:***@host"


def test_libraries_log_only_warnings_by_default():
    names = ("chatty.one", "chatty.two")
    loggers = [logging.getLogger(name) for name in names]
    loggers[1].setLevel(logging.INFO)
    quiet_libraries(logging.DEBUG, names)
    assert [it.level for it in loggers] == [logging.NOTSET, logging.INFO]
    quiet_libraries(logging.INFO, names)
    assert [it.level for it in loggers] == [logging.WARNING, logging.INFO]
