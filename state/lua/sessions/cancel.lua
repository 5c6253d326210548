--- sessions/cancel: aborts a session now; running turns are dropped, and recorded when they arrive.
--- KEYS: session dialog events journal turns board attachments locks*
--- ARGV: request reason detail retention_ms by
--- USES: status locks view transitions ending
--- ANSWERS: cancelled(view) refused(view) missing
--- GUARANTEE: nothing is written after it. The protocol has no transition from suspended to cancelled, so a
--- suspended session becomes active first, in the same instant.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if FINAL[status] then return answer_repeated(session, turns, request, 'cancelled') end
local keys = { session = session, dialog = dialog, events = events, journal = journal, turns = turns, board = board, attachments = attachments }
if status == 'suspended' then set_status(keys, 'active', 'active') end
local ending = {
  status = 'cancelled', reason = reason, detail = detail, retention_ms = retention_ms, request = request, by = by,
}
finish_session(keys, ending, locks_by_holder(locks))
return view(session, turns, 'cancelled')
