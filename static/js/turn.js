/** A running turn as a value: what its events have said so far. */

export const TERMINAL = new Set(["done", "cancel", "apperror"]);

/** A turn of which nothing is known yet. `link` says how its stream is: connecting, live or lost. */
export function newTurn(sessionId, streamId) {
  return {
    session_id: sessionId,
    stream_id: streamId,
    turn_id: streamId.slice(streamId.lastIndexOf(".") + 1),
    seq: 0,
    kind: "chat",
    user: null,
    agent: null,
    model: null,
    parts: [],
    notices: [],
    usage: null,
    link: "connecting",
    isStopping: false,
    terminal: null,
  };
}

/** The turn after `event`; one that was applied before, or belongs to the past, changes nothing. */
export function applyEvent(turn, event) {
  if (turn.terminal) return turn;
  // The replay of an ended turn counts anew, so its end is taken whatever its number is.
  if (TERMINAL.has(event.type)) return { ...turn, terminal: { type: event.type, ...event.data } };
  // Rendered blocks have no number: the stream sends each change of them once, in order.
  if (event.type === "html") return { ...turn, parts: withBlock(turn.parts, event.data) };
  if (event.seq < turn.seq || (event.seq === turn.seq && event.type !== "snapshot")) return turn;
  const change = CHANGES[event.type];
  return { ...turn, seq: event.seq, ...(change ? change(turn, event.data) : {}) };
}

/** The parts of a stored message, in the shape that a running turn has. */
export function partsOf(message, results) {
  const parts = [];
  if (message.reasoning) parts.push({ kind: "reasoning", text: message.reasoning });
  if (message.text) parts.push({ kind: "text", text: message.text, blocks: message.blocks && wholeBlocks(message.blocks) });
  for (const call of message.tool_calls ?? []) parts.push(storedTool(call, results.get(call.id)));
  return parts;
}

const CHANGES = {
  turn_started: (_turn, data) => ({ kind: data.kind, user: data.user_message, agent: data.agent, model: data.model }),
  token: (turn, data) => ({ parts: say(turn.parts, "text", data.text) }),
  reasoning: (turn, data) => ({ parts: say(turn.parts, "reasoning", data.text) }),
  tool: (turn, data) => ({ parts: [...turn.parts, tool(data)] }),
  tool_complete: (turn, data) => ({ parts: turn.parts.map((part) => completed(part, data)) }),
  usage: (turn, data) => ({ usage: added(turn.usage, data) }),
  notice: (turn, data) => ({ notices: [...turn.notices, data.text] }),
  snapshot: (_turn, data) => ({ parts: snapshotParts(data) }),
};

function say(parts, kind, text) {
  const last = parts.at(-1);
  if (last?.kind !== kind) return [...parts, kind === "text" && isGoingOn(parts) ? { kind, text, blocks: [] } : { kind, text }];
  return [...parts.slice(0, -1), { ...last, text: last.text + text }];
}

/** Whether words that come now belong to an answer that has blocks already: these will show them. */
function isGoingOn(parts) {
  return parts.slice(parts.findLastIndex((part) => part.kind === "tool") + 1).some((part) => part.blocks);
}

/** The blocks of a text that is complete, as the reader of a running one has them. */
export function wholeBlocks(blocks) {
  return blocks.map((html, number) => ({ number, html, added: "" }));
}

/** A block stays where it is; a new one belongs to the words that were said last. */
function withBlock(parts, { block: number, html, append }) {
  const has = (part) => part.blocks?.some((block) => block.number === number);
  const place = parts.some(has) ? parts.findIndex(has) : parts.findLastIndex((part) => part.kind === "text");
  if (place === -1) return [...parts, { kind: "text", text: "", blocks: [{ number, html, added: "" }] }];
  const { blocks = [] } = parts[place];
  const before = blocks.find((block) => block.number === number);
  const after = append ? { ...before, added: before.added + html } : { number, html, added: "" };
  const changed = before ? blocks.map((block) => (block === before ? after : block)) : [...blocks, after];
  return parts.with(place, { ...parts[place], blocks: changed });
}

function tool(data) {
  const { tid, name, args, result = null, duration = null } = data;
  return { kind: "tool", tid, name, args, result, duration, is_error: data.is_error === true };
}

function completed(part, data) {
  if (part.kind !== "tool" || part.tid !== data.tid) return part;
  return { ...part, result: data.result, duration: data.duration, is_error: data.is_error };
}

function snapshotParts(data) {
  const parts = [];
  if (data.reasoning) parts.push({ kind: "reasoning", text: data.reasoning });
  parts.push(...(data.tools ?? []).map(tool));
  if (data.text) parts.push({ kind: "text", text: data.text, blocks: data.html && wholeBlocks(data.html) });
  return parts;
}

function storedTool(call, result) {
  const name = call.function?.name ?? "tool";
  return tool({
    tid: call.id,
    name,
    args: parsed(call.function?.arguments),
    result: result ? result.text : null,
    is_error: result?.is_error === true,
  });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** One more model call added to those before; a count that nobody gave stays unknown. */
function added(before, data) {
  const sum = (name) => {
    const known = [before?.[name], data[name]].filter((count) => typeof count === "number");
    return known.length > 0 ? known.reduce((a, b) => a + b) : null;
  };
  return { input_tokens: sum("input_tokens"), output_tokens: sum("output_tokens") };
}
