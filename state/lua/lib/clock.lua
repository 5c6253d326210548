--- lib/clock: the time of the script, and its text form.
--- USES:

--- Time of the script by the server's clock, in milliseconds since the epoch. It is the same throughout the script.
local TIME = redis.call('TIME')
local NOW = TIME[1] * 1000 + math.floor(TIME[2] / 1000)

--- Format milliseconds since the epoch as `YYYY-MM-DDTHH:MM:SS.mmmZ` (civil calendar from day numbers).
local function iso_time(ms)
  local seconds = math.floor(ms / 1000)
  local z = math.floor(seconds / 86400) + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local day = doy - math.floor((153 * mp + 2) / 5) + 1
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  local rest = seconds % 86400
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', year, month, day,
    math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60, ms % 1000)
end
