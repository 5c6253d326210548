"""The page of one session as fragments: what of it changes while it is open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, cast

from ...jobs.conditions import Condition
from ...models.sessions.progress import LimitUse, describe_limit, without_safety_cap
from ...models.text.ids import entry_key
from ...models.text.words import count_of, short_duration
from ..live.fragments import Fragments
from ..live.open_session import ShownSession
from ..views.collab_cells import cells_of, cost_text, progress_class, time_html
from ..views.collab_row import CollabRow, RowLimit
from ..views.session.lanes import draw_lanes, make_axis
from ..views.session.markdown import render_markdown
from ..views.session.params import PEOPLE_SORTS, SessionParams, Times
from ..views.session.snapshot import session_json
from ..views.session.stop_words import stop_in_words
from ..views.session.timeline import join_timelines
from ..views.session.transcript import Transcript
from ..views.session.turn_entries import TurnEntry, TurnFacts, build_entries, live_entries
from ..views.texts import duration
from .base import DashboardHandler
from .fragments import Templates

#: Participants above whose number their table scrolls.
MAX_PEOPLE = 12
#: State of a participant or a turn -> class of its badge; others have none.
_STATES = {
    "speaking": "active",
    "must answer": "waiting",
    "waits for an answer": "waiting",
    "failed": "failed",
    "done": "completed",
    "claimed": "active",
    "retries": "retry",
    "worker lost": "lost",
}


@dataclass(frozen=True, slots=True)
class Who:
    """Names of participants."""

    people: Mapping[str, Mapping[str, Any]]

    def name(self, participant: str) -> str:
        """Return a display name."""
        person = self.people.get(participant)
        return participant if person is None else str(person["name"])

    def details(self, participant: str) -> str:
        """Return role and agent."""
        person = self.people.get(participant)
        if person is None:
            return ""
        role = "orchestrator" if person["is_orchestrator"] else person["role"]
        role = None if role in (participant, person["name"]) else role
        return " · ".join(filter(None, (role, person["agent"] if person["kind"] == "agent" else "a person")))


class SessionHtml:
    """Renders the fragments of sessions. An entry of the transcript is rendered once for all pages.

    Args:
        handler: Any handler of the application.
    """

    def __init__(self, handler: DashboardHandler) -> None:
        self._base_url = handler.base_url
        self._templates = Templates(
            handler,
            task_url=handler.reverse_url("task", ""),
            count_of=count_of,
            cost_text=cost_text,
            duration=duration,
            exact=escape,
            markdown=render_markdown,
            time_html=time_html,
            state_class=lambda state: _STATES.get(state, ""),
        )
        self._sessions = handler.services.sessions

    def render(self, template_name: str, session_id: str, **values: object) -> str:
        """Return a template in `templates/session/` as HTML."""
        return self._templates.render(f"session/{template_name}", session_id=session_id, **values)

    def fragments(
        self,
        shown: ShownSession,
        row: CollabRow,
        condition: Condition,
        params: SessionParams,
        times: Times,
        transcript: Transcript | None,
    ) -> Fragments:
        """Return the fragments of a page. It renders Markdown, so it is called in a thread.

        Args:
            shown: The session.
            row: Its row in the list.
            condition: What it does, or why it does not move.
            params: What the page shows.
            times: Its times.
            transcript: The turns that it shows; None: the newest ones.
        """
        session = cast("dict[str, Any]", session_json(shown.parts, condition))
        who = Who({person["id"]: person for person in session["participants"]})
        html, lists = self._people(_drawn(shown, times, transcript), session, who, params, times)
        if transcript is None:
            transcript = self._newest(shown, session, times)
        turns = {
            entry.element: self._turn(shown, session["id"], entry, who, params)
            for entry in transcript.entries
        }
        html |= turns
        lists |= {"turns": tuple(turns)}
        html["earlier"] = self.render("earlier", session["id"], who=who, params=params, transcript=transcript)
        html["span"] = self.render("span", session["id"], params=params)
        html["memory"] = self.render(
            "memory", session["id"], memory=shown.memory, problem=shown.memory_problem
        )
        spec = shown.parts.facts.spec
        html["children"] = self.render("children", session["id"], children=self._children(session))
        html["summary"] = self.render(
            "summary",
            session["id"],
            session=session,
            row=row,
            cells=cells_of(row),
            limits=[_limit(limit, row) for limit in row["limits"]],
            short_duration=short_duration,
            history=spec.history,
            room=spec.memory and spec.memory.room_id,
            stops=stop_in_words(without_safety_cap(spec.stop)),
            params=params,
        )
        for name in ("questions", "open", "board", "decisions", "tensions"):
            html[name] = self.render(name, session["id"], session=session, who=who)
        return Fragments(html, lists)

    def _children(self, session: Mapping[str, Any]) -> list[dict[str, object]]:
        """Return the sessions below this one, each with its depth."""
        depths, children = {session["id"]: -1}, []
        for child in session["descendants"]:
            child_id = child["session_id"]
            depths[child_id] = depths.get(child["parent"], -1) + 1
            row = self._sessions.get(child_id)
            cells = None if row is None else cells_of(row)
            children.append(
                {
                    "id": child_id,
                    "turn": child["turn"],
                    "depth": depths[child_id],
                    "title": child_id[:8] if cells is None else cells.title,
                    "shown": cells and cells.badge,
                    "class": cells and cells.badge_class,
                    "cost": cells.cost if row is not None and row["cost_micros"] and cells else "",
                }
            )
        return children

    def _newest(self, shown: ShownSession, session: Mapping[str, Any], times: Times) -> Transcript:
        """Return the newest turns, with those that are open."""
        facts = TurnFacts(shown.timeline["spans"], shown.timeline["waits"])
        closed = build_entries(shown.messages, facts)
        # The state may be older than the messages: a turn whose message is written is no longer open.
        written = {entry.element for entry in closed}
        live = live_entries(session["open_turns"], shown.texts, facts)
        entries = [*closed, *(entry for entry in live if entry.element not in written)]
        earlier = shown.messages[0][0] if shown.has_earlier else ""
        if (since_ms := times.since_ms) is not None:
            entries = [entry for entry in entries if entry.state or entry.at[0] >= since_ms]
            earlier = earlier if earlier and entry_key(earlier)[0] >= since_ms else ""
        return Transcript(tuple(entries), earlier)

    def _turn(
        self, shown: ShownSession, session_id: str, entry: TurnEntry, who: Who, params: SessionParams
    ) -> str:
        api = f"{self._base_url}/api/collabs/{session_id}"
        name, details = who.name(entry.author), who.details(entry.author)

        def render() -> str:
            return self.render(
                "turn",
                session_id,
                entry=entry,
                name=name,
                details=details,
                params=params,
                message_url=f"{self._base_url}/collabs/{session_id}/messages/",
                message_api=f"{api}/messages/",
                file_url=f"{api}/attachments/",
            )

        return shown.rendered.get((entry, name, details, params.all_turns()), render)

    def _people(
        self,
        timeline: Mapping[str, Any],
        session: dict[str, Any],
        who: Who,
        params: SessionParams,
        times: Times,
    ) -> tuple[dict[str, str], dict[str, tuple[str, ...]]]:
        """Return the rows of the participants with their lanes, and the head of their table."""
        is_final = session["is_final"] or not session["is_live"]
        now_ms = session["ended_ms"] or (session["now_ms"] if session["is_live"] else session["updated_ms"])
        axis = make_axis(
            timeline["spans"],
            now_ms=now_ms,
            is_final=is_final,
            since_ms=times.since_ms,
            until_ms=times.until_ms,
        )
        lanes = draw_lanes(
            timeline["spans"],
            timeline["waits"],
            axis,
            is_final=is_final,
            open_turns=session["open_turns"],
            now_ms=now_ms,
        )
        people = _sorted_people(session["participants"], params.people)
        html = {
            f"who-{person['id']}": self.render(
                "person",
                session["id"],
                person=person,
                details=who.details(person["id"]),
                bars=lanes.get(person["id"], ()),
                params=params,
            )
            for person in people
        }
        html["people-head"] = self.render(
            "people_head", session["id"], axis=axis, is_now=not (is_final or params.until), params=params
        )
        order = tuple(f"who-{person['id']}" for person in people)
        return html, {"people": order}


def _drawn(shown: ShownSession, times: Times, transcript: Transcript | None) -> Mapping[str, Any]:
    """Return the timeline of a page. One that ends at a time also has what was done before that time."""
    if times.until_ms is None or transcript is None or transcript.timeline is None:
        return shown.timeline
    return join_timelines(transcript.timeline, shown.timeline)


def _sorted_people(people: Sequence[dict[str, Any]], column: str) -> list[dict[str, Any]]:
    if column not in PEOPLE_SORTS:
        return list(people)

    def amount(person: dict[str, Any]) -> int:
        usage = person["usage"]
        amounts = {"turns": person["turns"], "tokens": usage["tokens"], "cost": usage["cost_micros"]}
        return int(amounts[column])

    return sorted(people, key=amount, reverse=True)


def _limit(limit: RowLimit, row: CollabRow) -> dict[str, object]:
    """Return a limit as the summary shows it."""
    unit, used, most = limit["unit"], limit["used"], limit["limit"]
    is_count = unit not in ("cost_micros", "seconds")
    return {
        "name": {"cost_micros": "Cost", "seconds": "Time"}.get(unit, unit.capitalize()),
        "text": f"{used:,.0f} of {most:,.0f}" if is_count else describe_limit(LimitUse(**limit)),
        "value": min(used, most),
        "max": most,
        "class": progress_class(row, limit),
    }
