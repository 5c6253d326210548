--- lib/refusals: output that is not written.
--- USES: status events

--- Records output that was discarded.
local function lament(journal, number, turn, token)
  note(journal, 'turn.dropped', { turn_number = tonumber(number), participant_id = turn.participant, token_id = token })
end

--- Refuses a stale writer and records it: in the events, or after MAPSessionCompleted, the last event of a session, in the journal only.
local function refuse(session, events, journal, conflict, role)
  if FINAL[redis.call('HGET', session, 'status')] then
    note(journal, 'turn.refused', conflict)
    return
  end
  conflict.conflict = 'stale_token'
  emit(events, 'MAPConflictDetected', conflict, role)
  conflict.resolution = 'refused'
  emit(events, 'MAPConflictResolved', conflict, role)
end
