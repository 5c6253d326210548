"""The lifecycles of collabs and dialogs: the allowed changes of status.

Source: Collab and Dialog modules, section 4, and the protocol's state diagrams. `suspended` and `paused`
cannot change to `completed`, and `suspended` cannot change to `cancelled`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from ..errors import IllegalTransition, Locked
from ..text.ids import utcnow
from .collab import Collab, CollabStatus
from .dialog import Dialog, DialogStatus

#: Status -> the statuses that may follow it; a final status has none.
COLLAB_EDGES: Mapping[CollabStatus, frozenset[CollabStatus]] = {
    CollabStatus.DRAFT: frozenset({CollabStatus.ACTIVE, CollabStatus.CANCELLED}),
    CollabStatus.ACTIVE: frozenset({CollabStatus.SUSPENDED, CollabStatus.COMPLETED, CollabStatus.CANCELLED}),
    CollabStatus.SUSPENDED: frozenset({CollabStatus.ACTIVE}),
    CollabStatus.COMPLETED: frozenset(),
    CollabStatus.CANCELLED: frozenset(),
}

#: Status -> the statuses that may follow it; a final status has none.
DIALOG_EDGES: Mapping[DialogStatus, frozenset[DialogStatus]] = {
    DialogStatus.ACTIVE: frozenset({DialogStatus.PAUSED, DialogStatus.COMPLETED, DialogStatus.CANCELLED}),
    DialogStatus.PAUSED: frozenset({DialogStatus.ACTIVE, DialogStatus.CANCELLED}),
    DialogStatus.COMPLETED: frozenset(),
    DialogStatus.CANCELLED: frozenset(),
}


def transition_collab(
    collab: Collab, target: CollabStatus, *, at: datetime | None = None, by: str | None = None
) -> Collab:
    """Return a copy of the collab in status `target`, changed at the time `at` (default: now) by the actor `by`.

    A change to `active` fills every missing `role_id` from the participant id.

    Raises:
        Locked: `governance.locked` refuses every change.
        IllegalTransition: the diagram has no such edge.
    """
    if collab.governance and collab.governance.locked:
        raise Locked("collab", collab.collab_id)
    if target not in COLLAB_EDGES[collab.status]:
        raise IllegalTransition("collab", collab.status, target)
    moment = at or utcnow()
    meta = collab.meta.changed(updated_at=moment, updated_by=by)
    moved = collab.changed(status=target, updated_at=moment, meta=meta)
    return moved.activated() if moved.status is CollabStatus.ACTIVE else moved


def transition_dialog(
    dialog: Dialog, target: DialogStatus, *, at: datetime | None = None, by: str | None = None
) -> Dialog:
    """Return a copy of the dialog in status `target`; a final status sets `ended_at`.

    Raises:
        Locked: `governance.locked` refuses every change.
        IllegalTransition: the diagram has no such edge.
    """
    if dialog.governance and dialog.governance.locked:
        raise Locked("dialog", dialog.dialog_id)
    if target not in DIALOG_EDGES[dialog.status]:
        raise IllegalTransition("dialog", dialog.status, target)
    moment = at or utcnow()
    meta = dialog.meta.changed(updated_at=moment, updated_by=by)
    ended_at = dialog.ended_at if DIALOG_EDGES[target] else moment
    return dialog.changed(status=target, ended_at=ended_at, meta=meta)
