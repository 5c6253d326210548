"""Types of settings, and how the text of a variable becomes a value of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from ..models.text.paths import ExpandedPath
from . import urls


def _from_json(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise ValueError('must be JSON, such as {"name": "/a/path"}') from None


#: Paths by the names that schedules and reviews use; JSON in the environment.
NamedPaths = Annotated[dict[str, ExpandedPath], BeforeValidator(_from_json), Field(max_length=1_000)]


def _split(value: object) -> object:
    return [it.strip() for it in value.split(",") if it.strip()] if isinstance(value, str) else value


#: Host names; separated by commas in the environment.
HostNames = Annotated[tuple[str, ...], BeforeValidator(_split), Field(max_length=100)]
RedisUrl = Annotated[SecretStr, AfterValidator(urls.redis_url)]
BrokerUrl = Annotated[SecretStr, AfterValidator(urls.broker_url)]
DatabaseUrl = Annotated[SecretStr, AfterValidator(urls.database_url)]


@dataclass(frozen=True, slots=True)
class Unset:
    """What applies if a setting has no value, in the words of the documentation."""

    text: str
