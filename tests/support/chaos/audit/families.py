"""The independent checker of sessions and their sub-sessions: each opened once, and its usage booked in its turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from chaos.audit.auditor import COUNTED
from chaos.audit.evidence import Evidence
from chaos.script import Finding, Script


def audit_family(script: Script, seen: Mapping[str, Evidence], *, is_cut: bool) -> Iterator[Finding]:
    """Yield what is wrong between a session and its sub-sessions; `is_cut`: somebody has cancelled it."""
    parent = seen[script.session]
    for name, child_id in script.teams.items():
        child = seen[child_id]
        if not child.session:
            if not is_cut:
                yield Finding(child_id, "lost", f"the sub-session of {name} was never opened")
            continue
        if child.session["status"] not in ("completed", "cancelled"):
            yield Finding(child_id, "end", f"it is {child.session['status']}, and its parent has ended")
        if not is_cut:
            yield from _usage(name, parent, child)


def _usage(name: str, parent: Evidence, child: Evidence) -> Iterator[Finding]:
    """The turn has the usage of its sub-session; what arrives after the end of the sub-session may be missing."""
    turns = {grant.number for grant in parent.grants if grant.participant == name}
    for amount in COUNTED:
        booked = sum(it.usage.get(amount, 0) for it in parent.closings if it.number in turns)
        most = int(child.session[amount])
        least = most - sum(bill.get(amount, 0) for bill in child.late_bills)
        if not least <= booked <= most:
            yield Finding(
                parent.id, "budget", f"{amount} of {name}: booked {booked}, spent {least} to {most}"
            )
