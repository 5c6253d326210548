--- turns/release_lost: ends the lease of a turn whose worker process was lost, so that another worker may begin it.
--- KEYS: session journal turns lock
--- ARGV: number token process
--- USES: locks turns events changes
--- ANSWERS: released kept
--- GUARANTEE: ends the lease of this token only. Afterwards the turn is like one whose lease has expired: a commit under
--- this token is refused, and the next `begin` takes the turn over.
local turn = read_turn(turns, number)
if not turn or turn.token ~= token or turn.status ~= 'speaking' or lock_owner(lock) ~= token then return { 'kept' } end
redis.call('DEL', lock)
turn.lost_worker = string.match(process, '^(.*)/')
save_turn(turns, number, turn)
write_journal(journal, 'turn.worker.lost', {
  turn_number = tonumber(number), participant_id = turn.participant, token_id = token, worker = turn.lost_worker, process = process,
})
write_changes(session)
return { 'released' }
