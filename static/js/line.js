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
  const { id, content, html } = turn.user;
  return { id, role: "user", turn: turn.turn_id, text: textOf(content), blocks: html };
}
