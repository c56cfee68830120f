/** Unsent texts, one for each session, kept in this browser. */

import { emptyDraft } from "./written.js";

const DRAFT = "talaria.draft.";
const SENDING = "talaria.sending.";

/** What was left unsent in a session: the draft, else a text whose send was cut off. */
export function readDraft(key, outbox) {
  const [draft, held] = [read(DRAFT + key), read(SENDING + key)];
  const isOnItsWay = outbox.some((entry) => entry.client_id === held?.client_id);
  const kept = draft ?? (isOnItsWay ? null : held);
  return { ...emptyDraft(key), ...kept, key };
}

export function writeDraft({ key, text, attachments, client_id, after }) {
  if (text || attachments.length > 0) keep(DRAFT + key, { text, attachments, client_id, after });
  else localStorage.removeItem(DRAFT + key);
}

/** Keep a text that is being sent until the server has answered for it. */
export function hold({ key, text, attachments, client_id, after }) {
  keep(SENDING + key, { text, attachments, client_id, after });
}

export function release(key) {
  localStorage.removeItem(SENDING + key);
}

/** Write every change of the draft in the composer. */
export function keepDrafts(store) {
  let written = store.get().draft;
  store.listen(({ draft }) => {
    if (draft === written) return;
    written = draft;
    writeDraft(draft);
  });
}

function keep(name, value) {
  try {
    localStorage.setItem(name, JSON.stringify(value));
  } catch {
    // A full store costs the copy of this draft; the text itself is in the page.
  }
}

function read(name) {
  try {
    const kept = JSON.parse(localStorage.getItem(name));
    if (typeof kept?.text !== "string") return null;
    const attachments = Array.isArray(kept.attachments) ? kept.attachments : [];
    return kept.text || attachments.length > 0 ? { ...kept, attachments } : null;
  } catch {
    return null;
  }
}
