"""The sentence of a session: the registered parser reads it as parameters, when the first turn begins.

The parser is a function, or an agent that is asked as in a turn: with the lease, the deadline and the journal of the turn,
so its usage is booked, and a worker that takes over the turn does not pay for its answer again.

A parser that fails stops no turn: the sentence stays in the dialog, an event has the error, and the next turn tries again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from ..agents.agent import AnyAgent
from ..agents.kinds.parser import ParserAgent
from ..models.errors import AgentError, InvalidInput, LeaseLost
from ..models.memory.checking import check_learned, memory_note, merge_learned
from ..models.memory.learned import Learned, read_remarks
from ..models.memory.masking import mask
from ..models.memory.recall import MemoryView, RecalledMemory, day_of
from ..models.memory.sentences import (
    ModelParser,
    Parser,
    Sentence,
    answer_schema,
    read_model_answer,
)
from ..models.prompts.memory import parser_purpose, parser_request
from ..models.protocol.collab import CollabMode, Participant
from ..models.protocol.dialog import Message, Role
from ..models.sessions.options import AgentBinding
from ..models.text.json_text import read_json
from ..models.turns.position import TurnPosition
from ..models.turns.turn import TurnContext, TurnOutcome, Usage
from .asking import open_services, run_agent
from .runtime.runtime import Runtime
from .turns.learned import memory_correction
from .turns.turn import Turn

log = logging.getLogger(__name__)

_READER = Participant(participant_id="parser")
_NO_PARSER = (
    "no parser is registered here: call register_parser in a module of the agents file, or set [parser] in it"
)


def read_sentence(runtime: Runtime, turn: Turn) -> Turn:
    """Return the turn with the parameters of the session's sentence in its memory; most turns have none to read.

    Raises:
        LeaseLost: Another worker has the turn.
        StateError: The live state in Redis cannot be read or changed.
    """
    recalled = turn.recall
    if recalled is None or recalled.sentence is None:
        return turn
    try:
        parser = runtime.agents.registry.parser
        if parser is None:
            return _not_read(turn, recalled, _NO_PARSER)
        learned, faults = _parse(runtime, turn, recalled, parser)
    except LeaseLost:
        raise
    except (AgentError, InvalidInput) as error:
        return _not_read(turn, recalled, str(error))
    again = runtime.ports.memory.add_sentence(turn.facts, learned, now_ms=turn.state.now_ms)
    return replace(turn, recall=replace(again or recalled, faults=faults))


def _not_read(turn: Turn, recalled: RecalledMemory, why: str) -> Turn:
    fault = f"the user's message was not read: {mask('message', why)}"
    return replace(turn, recall=replace(recalled, faults=(fault,)))


def _parse(
    runtime: Runtime, turn: Turn, recalled: RecalledMemory, parser: Parser
) -> tuple[Learned, tuple[str, ...]]:
    """Return the valid parameters of the sentence, and what is wrong with the others."""
    view, text = recalled.view, recalled.sentence or ""
    with runtime.agents.leases.keep_renewed(turn.session_id, turn.grant) as lease:
        run = partial(run_agent, runtime, turn, lease)
        if isinstance(parser, ModelParser):
            agent = runtime.agents.registry.get_agent(AgentBinding(agent=parser.agent))
            ask = partial(_ask_model, runtime, turn, agent, run)
            learned = _ask_twice(ask, _context(turn, view, text), view)
        else:
            sentence = Sentence(text, view, view.today or day_of(turn.state.now_ms))
            function = ParserAgent(parser, sentence, threads=runtime.agents.registry.threads)
            outcome = run(function, _context(turn, view, text), None)
            learned = outcome.learned or Learned()
    checked = check_learned(learned, view)
    if checked.unclear:  # kept until a turn names the service
        return learned.model_copy(update={"unreadable": ()}), learned.unreadable
    return checked.learned or Learned(), checked.faults


def _ask_twice(ask: Callable[[TurnContext], Learned], context: TurnContext, view: MemoryView) -> Learned:
    """Return what a model read; wrong values go back to it once."""
    learned = ask(context)
    checked = check_learned(learned, view)
    if not checked.faults or checked.unclear:
        return learned
    correction = memory_correction(checked.faults)
    try:
        again = ask(context.asked_again(correction, memory_note(checked.faults)))
    except AgentError as error:
        log.info("correcting the parameters of a sentence failed: %s", error)
        return learned
    return merge_learned(checked.learned, again) or Learned()


def _ask_model(
    runtime: Runtime,
    turn: Turn,
    agent: AnyAgent,
    run: Callable[..., TurnOutcome],
    context: TurnContext,
) -> Learned:
    services = open_services(runtime, turn, agent, streams=False)
    outcome = run(agent, context, services)
    if services is None and outcome.usage != Usage():
        turn.journal.store_usage(turn.own_usage + outcome.usage)
    return _read_answer(outcome)


def _read_answer(outcome: TurnOutcome) -> Learned:
    """Return what an answer states: as parameters, as data, as JSON in its text, or as lines.

    Raises:
        InvalidInput: Its data has another form.
    """
    if outcome.learned is not None:
        return outcome.learned
    if isinstance(outcome.output, dict):
        return read_model_answer(outcome.output)
    text = "\n".join(draft.content for draft in outcome.messages)
    try:
        data = read_json(text)
    except ValueError:
        data = None
    if isinstance(data, dict):
        return read_model_answer(data)
    return read_remarks(text.splitlines()) or Learned()


def _context(turn: Turn, view: MemoryView, text: str) -> TurnContext:
    """Return the context in which an agent reads a sentence; it sees no dialog."""
    facts, request = turn.facts, parser_request(view)
    return TurnContext(
        session_id=turn.session_id,
        mode=CollabMode.ROUND_ROBIN,  # its request is the instruction alone
        title=facts.collab.title,
        purpose=parser_purpose(view),
        me=_READER,
        roster=(_READER,),
        turn_number=turn.number,
        attempt=turn.grant.grants,
        instruction=request,
        position=TurnPosition(instruction=request),
        output_schema=answer_schema(view.forms),
        messages=(Message(role=Role.USER, content=text),),
        timeout_s=turn.timeout_s,
    )
