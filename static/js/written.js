/** What a person has written: the draft in the box, texts on their way, a message that is being changed. */

/** The key of the draft that belongs to no session yet. */
export const NEW = "new";

/**
 * The draft of a session: `client_id` is that of a send whose outcome is unknown, made after message `after`;
 * `attachments` are the answers to its uploads.
 */
export function emptyDraft(key) {
  return { key, text: "", attachments: [], client_id: null, after: 0 };
}

export const WRITTEN = {
  "draft/changed": (s, e) => typed(s, e.text),
  "draft/set": (s, e) => ({ ...typed(s, e.draft.text), draft: e.draft }),
  "draft/files": (s, e) => ({ ...s, draft: { ...s.draft, attachments: e.attachments, client_id: null, after: 0 } }),
  "upload/begun": (s, e) => ({ ...s, uploads: [...s.uploads, e.entry] }),
  "upload/ended": (s, e) => ({ ...s, uploads: s.uploads.filter(({ key }) => key !== e.key), isSendDue: s.isSendDue && e.isKept }),
  "upload/send": (s, e) => ({ ...s, isSendDue: e.isDue }),
  "send/begun": (s, e) => ({ ...withoutSent(s, e.entry), panel: null, outbox: [...s.outbox, e.entry] }),
  "send/accepted": accepted,
  "send/dropped": (s, e) => ({ ...s, outbox: without(s.outbox, e.client_id) }),
  editing: (s, e) => ({ ...s, editing: e.editing }),
};

/** The state with `text` in the box; a list of completions begins anew. */
export function typed(state, text) {
  const { client_id, after, text: before } = state.draft;
  const kept = text === before ? { client_id, after } : { client_id: null, after: 0 };
  return { ...state, draft: { ...state.draft, text, ...kept }, completion: { active: 0, isClosed: false } };
}

/** The texts on their way that a freshly read session does not show yet. */
export function outboxBeside(outbox, session) {
  return outbox.filter((entry) => !isArrived(entry, session));
}

/** The texts on their way but the one that `turn` answers. */
export function outboxBesideTurn(outbox, turn) {
  return outbox.filter((entry) => !isOf(entry, turn));
}

/** A text whose send seemed to fail leaves the composer once the session shows that it arrived. */
export function draftBeside(draft, session) {
  const last = session.messages.findLast((message) => message.role === "user" && !message.kind);
  const waits = session.queue.some((item) => item.client_id === draft.client_id);
  const hasArrived = waits || (last && last.id > draft.after && last.text === draft.text);
  return draft.client_id && hasArrived ? emptyDraft(draft.key) : draft;
}

/** A message in hand that has left the chat: it was sent with these words, or they go to the box. */
export function editingBeside({ editing, draft }, session) {
  const isHere = editing?.session_id === session.session_id;
  const isShown = ({ id }) => id >= editing.message_id;
  if (!isHere || session.messages.find(isShown)?.id === editing.message_id) return { editing, draft };
  if (session.messages[0]?.id > editing.message_id && session.messages[0].parent) return { editing, draft };
  const hasArrived = session.messages.some(({ id, role, text }) => id > editing.message_id && role === "user" && text === editing.text);
  const text = [draft.text, hasArrived ? "" : editing.text].filter(Boolean).join("\n\n");
  return { editing: null, draft: text === draft.text ? draft : { ...draft, text, client_id: null } };
}

/** The state without the draft, where that is what was sent. */
function withoutSent(state, { text }) {
  if (state.draft.text !== text) return state;
  const left = typed(state, "");
  return { ...left, draft: { ...left.draft, attachments: [] } };
}

function accepted(state, { client_id, turn_id, revision, session_id }) {
  const isShown = session_id === state.open;
  if (!isShown) return { ...state, outbox: without(state.outbox, client_id) };
  const outbox = state.outbox.map((e) => (e.client_id === client_id ? { ...e, turn_id, revision } : e));
  return { ...state, outbox: outboxBesideTurn(outboxBeside(outbox, state.session), state.turn) };
}

function without(outbox, clientId) {
  return outbox.filter((entry) => entry.client_id !== clientId);
}

function isArrived(entry, session) {
  return entry.revision !== undefined && session !== null && entry.revision <= session.revision;
}

function isOf(entry, turn) {
  return turn !== null && turn.user !== null && entry.turn_id === turn.turn_id && entry.key === turn.session_id;
}
