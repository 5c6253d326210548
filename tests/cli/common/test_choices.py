"""The choices of the command line are those of the code that it calls; it does not import that code to list them."""

from __future__ import annotations

from inspect import signature

import pytest

from symposia.cli.common.options import MODE_NAMES
from symposia.cli.reviews.schedule import WhenBusy, WhenMissed
from symposia.cli.sessions.list import list_sessions
from symposia.cli.sessions.show import GraphFormat
from symposia.models.modes import modes
from symposia.models.sessions.shown_status import ShownStatus
from symposia.schedules.schedule import MissedPolicy, OverlapPolicy
from symposia.tasks.sessions import rendering


@pytest.mark.parametrize(
    ("choices", "names"),
    [
        (GraphFormat, rendering.GraphFormat),
        (WhenBusy, OverlapPolicy),
        (WhenMissed, MissedPolicy),
    ],
)
def test_choices_are_those_of_the_code(choices, names):
    assert [str(choice) for choice in choices] == [str(name) for name in names]


def test_the_listed_modes_are_all_modes():
    assert f"[{'|'.join(mode.name for mode in modes())}]" == MODE_NAMES


def test_the_listed_statuses_are_all_statuses():
    (option,) = signature(list_sessions).parameters["status"].annotation.__metadata__
    assert all(status in option.help for status in ShownStatus)
