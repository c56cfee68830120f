/** What the transcript shows: the stored messages, and the running turn below them. */

/** The messages to show and the turn to show below them. */
export function shownLine({ session, turn }) {
  const messages = session?.messages ?? [];
  if (!turn || hasReply(session, turn)) return { messages, live: null };
  if (!turn.user) return { messages, live: turn };
  const place = messages.findIndex((message) => message.id === turn.user.id);
  if (place !== -1) return { messages: messages.slice(0, place + 1), live: turn };
  return { messages: [...messages, asked(turn)], live: turn };
}

/**
 * The messages as they are shown: each `{message, asked, run}`. `asked` is the id of the user message above;
 * `run` is there at the last message of a reply and has all of it.
 */
export function withRuns(messages) {
  let asked = null;
  let last = null;
  return messages.map((message) => {
    const isSaid = !message.kind;
    if (message.role === "user" && isSaid) asked = message.id;
    const item = { message, asked, run: null };
    if (message.role === "assistant" && isSaid) {
      item.run = [...(last?.run ?? []), message];
      if (last) last.run = null;
      last = item;
    } else if (message.role !== "tool") {
      last = null;
    }
    return item;
  });
}

/** Whether the session has stored what the turn said. */
export function hasReply(session, turn) {
  const isReply = (message) => message.turn === turn.turn_id && (message.role !== "user" || message.kind);
  return session?.session_id === turn.session_id && session.messages.some(isReply);
}

/** The words of a content that is a text or OpenAI-style parts. */
export function textOf(content) {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? `[${part.type}]`).join("\n");
}

function asked(turn) {
  const { id, content, html, attachments } = turn.user;
  return { id, role: "user", turn: turn.turn_id, text: textOf(content), blocks: html, attachments };
}
