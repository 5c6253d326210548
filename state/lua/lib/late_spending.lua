--- lib/late_spending: spending that arrives after its attempt has ended.
--- USES: turns events accounts

--- Record in the journal what a turn has spent and no event of the turn will report.
local function report_spending(journal, number, turn, token)
  local usage = take_unreported_usage(turn)
  if not usage then return end
  write_journal(journal, 'turn.spent', {
    turn_number = tonumber(number), participant_id = turn.participant, token_id = token, usage = usage,
  })
end

--- Book the spending of an attempt whose turn continued without it. Return nil if that turn is too old. If no event
--- of the turn will report the spending, the journal records it.
local function book_late(keys, number, token, accounts)
  local turn, slot = read_turn(keys.turns, number), 'spent:' .. number % 64
  local is_over = not turn or turn.status == 'closed'
  if is_over then
    local late = cjson.decode(redis.call('HGET', keys.session, slot) or '{}')
    if late.number ~= number then return nil end
    turn = late
  end
  local new = book_accounts(keys.session, turn, accounts)
  if is_over or turn.status == 'dropped' then report_spending(keys.journal, number, turn, token) end
  if is_over then
    redis.call('HSET', keys.session, slot, cjson.encode(turn))
  else
    save_turn(keys.turns, number, turn)
  end
  return new
end
