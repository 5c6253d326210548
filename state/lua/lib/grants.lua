--- lib/grants: the events of a grant.
--- USES: events accounts

local function turn_payload(number, turn)
  return {
    role_id = turn.role_uuid, turn_number = tonumber(number), token_id = turn.token,
    participant_id = turn.participant, fence = turn.fence, attempt = turn.grants,
  }
end

--- Close a grant: every MAPTurnDispatched has exactly one MAPTurnCompleted with its token.
local function close_grant(events, number, turn, result)
  result.usage = take_unreported_usage(turn) or result.usage
  local payload = turn_payload(number, turn)
  payload.result = result
  emit(events, 'MAPTurnCompleted', payload, turn.role_id)
end
