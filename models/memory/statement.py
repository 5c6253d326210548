"""From plain parameters to statements: typed, stamped, with their source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..errors import InvalidInput
from .merge import Statement
from .recall import INFERRED_CONFIDENCE
from .services import Service
from .state import RememberedValue, Source


@dataclass(frozen=True, slots=True)
class StatementOrigin:
    """Session and time of a statement."""

    #: Stamp of the statement.
    at_ms: int
    session: str = ""
    turn: int = 0


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """A statement, and what was wrong with the rest of what was said."""

    statement: Statement
    invalid: tuple[InvalidInput, ...] = ()

    def require_valid(self) -> Statement:
        """Return the statement. Raises InvalidInput for the first thing that is wrong."""
        if self.invalid:
            raise self.invalid[0]
        return self.statement


def parse_statement(
    service: Service,
    origin: StatementOrigin,
    said: Mapping[str, object],
    *,
    inferred: Mapping[str, object] | None = None,
    confidence: Mapping[str, float] | None = None,
    forget: tuple[str, ...] = (),
) -> ParsedStatement:
    """Return stated and inferred parameters as one statement; a parameter given as both counts as stated."""
    sure = confidence or {}
    concluded, odd = service.split_valid(inferred or {})
    stated, bad = service.split_valid(said)
    parameters = {
        name: RememberedValue(
            value,
            origin.at_ms,
            source,
            min(max(sure.get(name, usual), 0.0), 1.0),
            origin.session,
            origin.turn,
        )
        for values, source, usual in (
            (concluded, Source.INFERRED, INFERRED_CONFIDENCE),
            (stated, Source.SAID, 1.0),
        )
        for name, value in values.items()
    }
    statement = Statement(service.name, origin.at_ms, parameters, forget, session=origin.session)
    return ParsedStatement(statement, (*bad, *odd))
