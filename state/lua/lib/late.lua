--- lib/late: spending that is reported after its turn was over.
--- USES: turns events accounts

--- Records in the journal what a turn has spent, if no event of the turn will report it.
local function tell_spent(journal, number, turn, token)
  local usage = untold(turn)
  if not usage then return end
  note(journal, 'turn.spent', {
    turn_number = tonumber(number), participant_id = turn.participant, token_id = token, usage = usage,
  })
end

--- Books the spending of an attempt whose turn continues, or continued, without it. Returns nil if that turn is too old.
--- If no event of the turn will report the spending, the journal records it.
local function book_late(k, number, token, accounts)
  local turn, slot = fetch(k.turns, number), 'spent:' .. number % 64
  local is_over = not turn or turn.status == 'closed'
  if is_over then
    local late = cjson.decode(redis.call('HGET', k.session, slot) or '{}')
    if late.number ~= number then return nil end
    turn = late
  end
  local new = book(k.session, turn, accounts)
  if is_over or turn.status == 'dropped' then tell_spent(k.journal, number, turn, token) end
  if is_over then
    redis.call('HSET', k.session, slot, cjson.encode(turn))
  else
    save(k.turns, number, turn)
  end
  return new
end
