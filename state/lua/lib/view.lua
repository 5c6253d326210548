--- lib/view: answers with the planner's view of a session.
--- USES: clock changes
--- VIEW: status dialog_status version closed skipped next fence rounds ends_round planner stop input_tokens output_tokens cached_tokens requests cost_micros messages opened_ms started_ms updated_ms ended_ms deadline_ms stop_requested planned_by reason detail edition awaited format actor
---
--- The loader turns the names after `VIEW` into the local function `read_view_fields`.
---
--- Fields of the session hash:
---   the fields of VIEW above, where an absent counter is 0; `collab`, `spec` and `digest` as submitted
---   `format`: version of the format of the session; absent: 1
---   `actor`: who made the newest status change; absent: not a person
---   `moved_by`: request of the newest status change
---   `advanced_ms`, `advances`: when a step was last dispatched again, and how often
---   `token:0` to `token:63`: writers of the newest turns, see `requests.lua`
---   `spent:0` to `spent:63`: usage accounts of written and dropped turns, see `accounts.lua`
---   `archive`: `owed` (not archived yet) or `kept`; empty without an archive
---   `start`: the hashes with which a fork began
---   `draft_deadline_ms`: milliseconds that a draft may take after its start; 0: no limit
---   `restored_by`: request that restored the session
---   `map_events`, `notes`: numbers of its events
---   `reserved_tokens`, `reserved_cost`: what open turns may still spend, the sum over their records
--- Fields of a session with sub-sessions:
---   `parent`: id of the session whose turn it answers
---   `children`: number of sub-sessions in the tree below a session without parent
---   `child:ID`: each of them, as `parent|turn|call`
--- Fields of a steered session:
---   `edition`: number of changes of `collab` and `spec`
---   `next_collab`, `next_spec`: replace `collab` and `spec` when the next round begins (`awaited`)
---   `posts`: messages that wait until the next turn is written
---   `steered_by`, `posted_by`: the newest 64 requests

--- Return an answer with the planner's view, which is read in the same script (instant) as the change before it.
local function view(session, turns, answer, extra, booked, grant)
  write_changes(session)
  return { answer, NOW, read_view_fields(session), redis.call('HGETALL', turns), extra or false, booked, grant }
end
