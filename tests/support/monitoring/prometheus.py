"""A stand-in for a Prometheus server: it scrapes one Redis and evaluates the alert rules over the scrapes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from live import until
from monitoring.alert_causes import Cause, expressions
from monitoring.promql import Vector, evaluate
from monitoring.scraping import Scrape, scrape_redis

#: Seconds without progress after which a session of these tests counts as stuck.
STUCK_AFTER_S = 2


@dataclass
class Prometheus:
    """Scrapes one Redis again and again, as a Prometheus server does, and evaluates the rules."""

    url: str
    scrapes: list[tuple[float, Scrape]] = field(default_factory=list)
    #: What happens to an answer on its way.
    change: Callable[[Scrape], Scrape] = lambda scrape: scrape

    def scrape(self) -> Prometheus:
        scrape = scrape_redis(self.url, stuck_after_ms=STUCK_AFTER_S * 1_000)
        self.scrapes.append((time.monotonic(), self.change(scrape)))
        return self

    def firing(self) -> dict[str, Vector]:
        """The alerts whose expression is true now, with the series for which it is."""
        found = {name: evaluate(expression, self.scrapes) for name, expression in expressions().items()}
        return {name: vector for name, vector in found.items() if vector and isinstance(vector, dict)}

    def until_firing(self, cause: Cause) -> None:
        """Waits until the alert fires, and would fire for this cause alone."""

        def fires() -> bool:
            narrowed = evaluate(cause.expression, self.scrape().scrapes)
            return cause.alert in self.firing() and bool(narrowed)

        until(fires, timeout_s=110, what=f"{cause.alert} fires for {cause.branch or 'its cause'}")
