--- sessions/resume: continues a suspended session and writes the held commits, in turn order.
--- KEYS: session dialog events journal turns
--- ARGV: request by
--- USES: clock view turns transitions posts writing
--- ANSWERS: resumed(view) refused(view) missing
--- GUARANTEE: every held commit is written exactly once.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if status ~= 'suspended' then return answer_repeated(session, turns, request, 'resumed') end
local keys = { session = session, dialog = dialog, events = events, journal = journal, turns = turns }
set_status(keys, 'active', 'active', request, by)
each_turn(turns, function(number, turn)
  if turn.status == 'held' then
    write_turn(keys, number, turn, cjson.decode(redis.call('HGET', turns, number .. ':held')))
  elseif is_open(turn) and turn.queued_ms and turn.queued_ms < NOW then
    turn.queued_ms = NOW -- while the session was suspended no worker could take it
    save_turn(turns, number, turn)
  end
end)
flush_posts(keys)
return view(session, turns, 'resumed')
