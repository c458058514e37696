-- A dissector of NCP for Wireshark and tshark: over UDP (a packet is a datagram) and over TCP (each follows its length,
-- 4 bytes, little endian). Heuristic: what is not NCP by every rule of its encoding is left to others.
-- Wireshark has had "ncp" for long, for NetWare; the names here begin with nkn.ncp.
--   tshark -X lua_script:tools/wireshark/ncp.lua -r FILE
-- See docs/dashboards.md, and docs/protocol.md for what a packet has.

local ncp = Proto("nkn.ncp", "NKN Control Protocol")

local f = {
  length = ProtoField.uint32("nkn.ncp.length", "Length", base.DEC, nil, nil, "Of the packet that follows, over TCP"),
  sequence = ProtoField.uint32("nkn.ncp.sequence", "Sequence"),
  data = ProtoField.bytes("nkn.ncp.data", "Data"),
  data_len = ProtoField.uint32("nkn.ncp.data.len", "Data length"),
  ack_start = ProtoField.uint32("nkn.ncp.ack.start", "Acknowledged from"),
  ack_count = ProtoField.uint32("nkn.ncp.ack.count", "Acknowledged packets"),
  bytes_read = ProtoField.uint64("nkn.ncp.bytes_read", "Bytes read"),
  client_id = ProtoField.string("nkn.ncp.client_id", "Client id"),
  window = ProtoField.uint32("nkn.ncp.window_size", "Window size", base.DEC, nil, nil, "Bytes that this end offers"),
  mtu = ProtoField.uint32("nkn.ncp.mtu", "MTU", base.DEC, nil, nil, "Most data bytes in a packet that this end offers"),
  close = ProtoField.bool("nkn.ncp.close", "Close"),
  handshake = ProtoField.bool("nkn.ncp.handshake", "Handshake"),
  first = ProtoField.framenum("nkn.ncp.resend_of", "Sent before in", base.NONE, frametype.RETRANS_PREV),
  -- By what was captured: of a session's connections that are not in the capture nothing is counted.
  unread = ProtoField.uint64("nkn.ncp.unread_bytes", "Sent and not reported as read"),
  agreed = ProtoField.uint32("nkn.ncp.agreed_window", "Agreed window", base.DEC, nil, nil, "The smaller of both ends'"),
}
local e = {
  resend = ProtoExpert.new("nkn.ncp.resend", "This sequence was sent before", expert.group.SEQUENCE, expert.severity.NOTE),
  breach = ProtoExpert.new("nkn.ncp.window_breach", "More sent and not reported as read than the agreed window",
    expert.group.PROTOCOL, expert.severity.WARN),
  oversize = ProtoExpert.new("nkn.ncp.mtu_breach", "More data than the agreed MTU", expert.group.PROTOCOL,
    expert.severity.WARN),
}
ncp.fields, ncp.experts = f, e

-- By the number of its field: name, wire type (0 varint, 2 bytes), whether it repeats.
local FIELDS = {
  { "sequence", 0 }, { "data", 2 }, { "ack_start", 0, true }, { "ack_count", 0, true }, { "bytes_read", 0 },
  { "client_id", 2, true }, { "window", 0 }, { "mtu", 0 }, { "close", 0 }, { "handshake", 0 },
}
local LARGEST = 1024 * 1024 -- of a packet over TCP: no session has such an MTU

-- A varint at an offset: its value (exact up to 2^53) and the offset behind it; nil where there is none.
local function varint(tvb, at, stop)
  local value, scale = 0, 1
  for i = at, math.min(at + 9, stop - 1) do
    local byte = tvb(i, 1):uint()
    value = value + (byte % 128) * scale
    if byte < 128 then return value, i + 1 end
    scale = scale * 128
  end
end

-- What is in a packet, each field as a list of {value or length, from, to} with the bytes that it is in; nil where it
-- is no packet of NCP. Fields come in the order of their numbers, as every encoder writes them.
local function parse(tvb, at, stop)
  local found, last = {}, 0
  while at < stop do
    local key, value_at = varint(tvb, at, stop)
    if not key then return end
    local number, wire = math.floor(key / 8), key % 8
    local field = FIELDS[number]
    if not field or number < last or (number == last and not field[3]) then return end
    last = number
    local list = found[field[1]] or {}
    found[field[1]] = list
    local value, after = varint(tvb, value_at, stop)
    if not value then return end
    if wire == 2 and field[2] == 0 then -- packed
      local finish = after + value
      if not field[3] or finish > stop then return end
      while after < finish do
        local from = after
        value, after = varint(tvb, from, finish)
        if not value then return end
        list[#list + 1] = { value, from, after }
      end
    elseif wire == 2 and field[2] == 2 then
      if after + value > stop then return end
      list[#list + 1] = { value, after, after + value }
      after = after + value
    elseif wire == 0 and field[2] == 0 then
      list[#list + 1] = { value, value_at, after }
    else
      return
    end
    at = after
  end
  return found
end

-- Whether what was parsed makes sense: a packet says something, and all that belongs together is there.
local function sensible(p)
  if p.handshake then return p.window and p.mtu and p.client_id and not p.sequence end
  if p.window or p.mtu or p.client_id then return false end
  if (p.sequence == nil) ~= (p.data == nil) then return false end
  if p.ack_start and p.ack_count and #p.ack_start ~= #p.ack_count then return false end
  return p.sequence or p.ack_start or p.ack_count or p.bytes_read or p.close
end

-- What is known of sessions while a capture is read for the first time, and what came of each packet, for later.
local connections, groups, verdicts

function ncp.init()
  connections, groups, verdicts = {}, {}, {}
end

local function both(pinfo)
  local a, b = tostring(pinfo.src) .. ":" .. pinfo.src_port, tostring(pinfo.dst) .. ":" .. pinfo.dst_port
  return a, a < b and a .. " " .. b or b .. " " .. a
end

-- The session of a connection. Handshakes name all of a session's connections; two that are between the same
-- addresses are taken for two sessions'.
local function session_of(pinfo, p)
  local from, name = both(pinfo)
  local session = connections[name]
  if p.handshake and (not session or session.closed) then
    local ids = {}
    for i, id in ipairs(p.client_id) do ids[i] = id.text end
    local key = table.concat(ids, "\0")
    local a, b = tostring(pinfo.src), tostring(pinfo.dst)
    local pair = a < b and a .. " " .. b or b .. " " .. a
    session = nil
    for _, group in ipairs(groups[key] or {}) do
      if not group.closed and not group.pairs[pair] and group.count < #ids then session = group break end
    end
    if not session then
      session = { pairs = {}, count = 0, hosts = {}, ends = { {}, {} }, offers = {} }
      for i = 1, 2 do session.ends[i] = { seen = {}, sent = 0, read = 0 } end -- read: of what it sent
      groups[key] = groups[key] or {}
      table.insert(groups[key], session)
    end
    session.pairs[pair], session.count = true, session.count + 1
    session.hosts[name] = from -- who dials: its handshake is the first
    connections[name] = session
  end
  if session then return session, session.hosts[name] == from and 1 or 2 end
end

-- What a packet shows beside what is in it, in the order of the capture.
local function judge(pinfo, p)
  local session, side = session_of(pinfo, p)
  if not session then return {} end
  local mine, peer = session.ends[side], session.ends[3 - side]
  if p.handshake then
    session.offers[side] = { window = p.window[1][1], mtu = p.mtu[1][1] }
  end
  if p.bytes_read then peer.read = math.max(peer.read, p.bytes_read[1][1]) end
  if p.close then session.closed = true end
  if not p.sequence then return {} end
  local sequence, length, said = p.sequence[1][1], p.data[1][1], {}
  if mine.seen[sequence] then
    said.resend_of = mine.seen[sequence]
  else
    mine.seen[sequence] = pinfo.number
    mine.sent = mine.sent + length
  end
  local a, b = session.offers[1], session.offers[2]
  if a and b then
    said.window, said.unread = math.min(a.window, b.window), math.max(0, mine.sent - mine.read)
    said.breach = not said.resend_of and said.unread > said.window
    said.oversize = length > math.min(a.mtu, b.mtu)
  end
  return said
end

local function describe(p)
  local words = {}
  if p.handshake then
    words[#words + 1] = string.format("Handshake Win=%d MTU=%d", p.window[1][1], p.mtu[1][1])
  end
  if p.sequence then words[#words + 1] = string.format("Seq=%d Len=%d", p.sequence[1][1], p.data[1][1]) end
  local starts, counts = p.ack_start or {}, p.ack_count or {}
  for i = 1, math.min(math.max(#starts, #counts), 4) do
    local start, count = starts[i] and starts[i][1] or 1, counts[i] and counts[i][1] or 1
    words[#words + 1] = count > 1 and string.format("Ack=%d-%d", start, start + count - 1) or "Ack=" .. start
  end
  if math.max(#starts, #counts) > 4 then words[#words + 1] = "Ack=…" end
  if p.bytes_read then words[#words + 1] = string.format("Read=%d", p.bytes_read[1][1]) end
  if p.close then words[#words + 1] = "Close" end
  return table.concat(words, " ")
end

-- Adds the packet that is between two offsets to the tree.
local function show(tvb, pinfo, tree, at, stop, p)
  for _, id in ipairs(p.client_id or {}) do
    id.text = id[1] > 0 and tvb(id[2], id[1]):string() or ""
  end
  local key = pinfo.number .. "." .. at
  if not pinfo.visited then verdicts[key] = judge(pinfo, p) end
  local said = verdicts[key] or {}
  local words = describe(p)
  if said.resend_of then words = "[Resend] " .. words end
  local shown = tree:add(ncp, tvb(at, stop - at), "NCP, " .. words)
  for _, field in ipairs(FIELDS) do
    for _, item in ipairs(p[field[1]] or {}) do
      local range = tvb(item[2], item[3] - item[2])
      if field[1] == "client_id" then
        shown:add(f.client_id, range, item.text)
      elseif field[1] == "data" then
        if item[1] > 0 then shown:add(f.data, range) end
        shown:add(f.data_len, item[1]):set_generated()
      elseif field[1] == "bytes_read" then
        shown:add(f.bytes_read, range, UInt64(item[1] % 2 ^ 32, math.floor(item[1] / 2 ^ 32)))
      elseif field[1] == "close" or field[1] == "handshake" then
        shown:add(f[field[1]], range, item[1] ~= 0)
      else
        shown:add(f[field[1]], range, item[1] % 2 ^ 32)
      end
    end
  end
  if said.unread then
    shown:add(f.unread, UInt64(said.unread % 2 ^ 32, math.floor(said.unread / 2 ^ 32))):set_generated()
    shown:add(f.agreed, said.window):set_generated()
  end
  if said.resend_of then
    shown:add(f.first, said.resend_of):set_generated()
    shown:add_proto_expert_info(e.resend)
  end
  if said.breach then shown:add_proto_expert_info(e.breach) end
  if said.oversize then shown:add_proto_expert_info(e.oversize) end
  return words
end

local function columns(pinfo, words)
  pinfo.cols.protocol = "NCP"
  pinfo.cols.info = string.format("%d → %d  %s", pinfo.src_port, pinfo.dst_port, words)
end

local function over_udp(tvb, pinfo, tree)
  if tvb:len() < 2 or tvb:captured_len() < tvb:reported_len() then return false end
  local p = parse(tvb, 0, tvb:len())
  if not p or not sensible(p) then return false end
  columns(pinfo, show(tvb, pinfo, tree, 0, tvb:len(), p))
  return true
end

local function one_over_tcp(tvb, pinfo, tree)
  local size = tvb(0, 4):le_uint()
  local p = size > 0 and parse(tvb, 4, 4 + size)
  tree:add(f.length, tvb(0, 4), size)
  if not p then return tvb:len() end
  local words = show(tvb, pinfo, tree, 4, 4 + size, p)
  pinfo.cols.protocol = "NCP"
  pinfo.cols.info:append("  " .. words)
  return 4 + size
end

local function length_over_tcp(tvb, _, at)
  return 4 + tvb(at, 4):le_uint()
end

function ncp.dissector(tvb, pinfo, tree)
  pinfo.cols.protocol = "NCP"
  pinfo.cols.info = string.format("%d → %d", pinfo.src_port, pinfo.dst_port)
  dissect_tcp_pdus(tvb, tree, 4, length_over_tcp, one_over_tcp)
  return tvb:len()
end

-- A connection begins with a handshake, whole in its first segment.
local function over_tcp(tvb, pinfo, tree)
  if tvb:len() < 6 then return false end
  local size = tvb(0, 4):le_uint()
  if size == 0 or size > LARGEST or tvb:len() < 4 + size then return false end
  local p = parse(tvb, 4, 4 + size)
  if not p or not p.handshake or not sensible(p) then return false end
  pinfo.conversation = ncp
  ncp.dissector(tvb, pinfo, tree)
  return true
end

ncp:register_heuristic("udp", over_udp)
ncp:register_heuristic("tcp", over_tcp)
