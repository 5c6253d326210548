"""Which Redis this process talks to."""

from __future__ import annotations

from kombu.transport import TRANSPORT_ALIASES

from ..config.settings import Settings
from ..config.urls import for_celery
from ..models.errors import BrokerUnavailable, InvalidInput
from .discovery import resolve_redis_url

#: Where a Redis usually listens: tried when none is configured and no embedded server runs.
USUAL_URL = "redis://127.0.0.1:6379/0"


#: What to do about a broker that does not answer.
BROKER_ADVICE = "start it, or change SYMPOSIA_BROKER_URL"


def redis_url_in_use(settings: Settings) -> str:
    """The configured URL, else the running embedded server's, else the usual one."""
    return resolve_redis_url(settings) or USUAL_URL


def urls_in_use(settings: Settings) -> tuple[str, ...]:
    """Every URL this process connects to, passwords included."""
    memory = settings.memory_redis_url
    return (
        *(redis_url_in_use(settings), broker_url_in_use(settings)),
        *(it.get_secret_value() for it in (memory, settings.database_url) if it is not None),
    )


def broker_url_in_use(settings: Settings) -> str:
    """Where task messages travel, as Celery needs it: the configured broker, else the Redis in use.

    Raises:
        InvalidInput: Celery has no transport for the configured one.
    """
    if settings.broker_url is None:
        return for_celery(redis_url_in_use(settings))
    url = settings.broker_url.get_secret_value()
    scheme = url.partition("://")[0]
    if scheme.partition("+")[0] not in TRANSPORT_ALIASES:
        rule = "must begin with a transport that Celery has, such as redis:// or amqp://"
        raise InvalidInput("SYMPOSIA_BROKER_URL", f"{scheme}://", rule)
    return for_celery(url)


def check_broker(url: str) -> None:
    """Connect once. Raises BrokerUnavailable."""
    from kombu import Connection

    try:
        with Connection(url, connect_timeout=2) as broker:
            broker.ensure_connection(max_retries=1, timeout=3)
    except Exception as error:
        raise BrokerUnavailable(url, hint=f"{str(error).rstrip('.')}; {BROKER_ADVICE}") from error
