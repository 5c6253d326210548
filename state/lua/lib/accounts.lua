--- lib/accounts: usage accounts of the attempts of a turn.
--- USES:
---
--- Every attempt of a turn has a usage account under its token: what this attempt alone has spent so far. The record
--- of a turn holds the accounts (`spent`), and the part of their sum that its events have reported (`reported`; in
--- older sessions `told`). For late writers, the accounts of the newest 64 turns that were written after more than one
--- attempt, or whose record was removed after they were dropped, stay in the slots `spent:0` to `spent:63` of the
--- session hash.

--- Names of the amounts of a usage account, in their stored order.
local AMOUNTS = { 'input_tokens', 'output_tokens', 'cached_tokens', 'requests', 'cost_micros' }

--- Return amounts by name.
local function usage_by_name(amounts)
  local usage = {}
  for i, name in ipairs(AMOUNTS) do usage[name] = amounts[i] end
  return usage
end

--- Book accounts, each once, however often they are sent: of a known account only the increase counts. Return what
--- was added.
local function book_accounts(session, turn, accounts)
  local new = { 0, 0, 0, 0, 0 }
  for token, amounts in pairs(cjson.decode(accounts)) do
    turn.spent = turn.spent or {}
    local known = turn.spent[token] or { 0, 0, 0, 0, 0 }
    for i, name in ipairs(AMOUNTS) do
      local more = amounts[i] - known[i]
      if more > 0 then
        redis.call('HINCRBY', session, name, more)
        known[i], new[i] = amounts[i], new[i] + more
      end
    end
    turn.spent[token] = known
  end
  return new
end

--- Keep the accounts of a turn whose record will be removed, for late writers.
local function keep_accounts(session, number, turn)
  redis.call('HSET', session, 'spent:' .. number % 64, cjson.encode({
    number = number, participant = turn.participant, spent = turn.spent, reported = turn.reported or turn.told,
  }))
end

--- Return the usage of a turn that no event of it has reported yet, by name, or nil. It counts as reported from now on.
local function take_unreported_usage(turn)
  local sum, rest, is_some = { 0, 0, 0, 0, 0 }, {}, false
  local reported = turn.reported or turn.told or { 0, 0, 0, 0, 0 }
  for _, amounts in pairs(turn.spent or {}) do
    for i = 1, #AMOUNTS do sum[i] = sum[i] + amounts[i] end
  end
  for i = 1, #AMOUNTS do
    rest[i] = sum[i] - reported[i]
    is_some = is_some or rest[i] > 0
  end
  if is_some then turn.reported, turn.told = sum, nil end
  return is_some and usage_by_name(rest) or nil
end
