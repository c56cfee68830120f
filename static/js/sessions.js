/** The session that is open: which one, its messages, and what of them was seen. */

import { readDraft } from "./drafts.js";
import { NEW } from "./written.js";

const PAGE = 100;
const OLDER = 200;

/** The address of a session, or of one of its messages. */
export function addressOf({ session_id, message_id = null }) {
  const names = message_id === null ? { session: session_id } : { session: session_id, message: message_id };
  return `#${new URLSearchParams(names)}`;
}

export function createSessions(store, server) {
  let reading = null;
  let isStale = false;

  /** The session that the address names; null for a new chat. */
  function addressed() {
    return named("session");
  }

  function named(what) {
    return new URLSearchParams(location.hash.slice(1)).get(what);
  }

  /** Show what the address names. */
  function followAddress() {
    const sessionId = addressed();
    show(sessionId);
    if (sessionId && named("message")) goTo(sessionId, Number(named("message")));
  }

  /** Go to a message of a session; with null to its end. */
  function openAt(sessionId, messageId) {
    if (messageId === null) return open(sessionId);
    history.pushState(null, "", addressOf({ session_id: sessionId, message_id: messageId }));
    show(sessionId, true);
    goTo(sessionId, messageId);
  }

  /** Read as far back as a message of the open session, then point at it. */
  async function goTo(sessionId, messageId) {
    await refresh();
    const line = () => (store.get().open === sessionId ? (store.get().session?.messages ?? []) : []);
    let first = line()[0];
    while (first && first.id > messageId && first.parent) {
      await readEarlier();
      if (line()[0] === first) return;
      first = line()[0];
    }
    if (line().some(({ id }) => id === messageId)) store.dispatch({ type: "target", session_id: sessionId, message_id: messageId });
    else if (first) store.dispatch({ type: "toast/shown", toast: { text: "This message is not in the chat as it stands now." } });
  }

  /** Go to a session, or with null to a new chat. */
  function open(sessionId) {
    const address = sessionId ? `#session=${encodeURIComponent(sessionId)}` : location.pathname;
    if (sessionId !== addressed()) history.pushState(null, "", address);
    show(sessionId, true);
  }

  function show(sessionId, isAsked = false) {
    const { open: shown, visit, outbox } = store.get();
    if (shown === sessionId && visit > 0 && !(isAsked && sessionId === null)) return;
    store.dispatch({ type: "open", session_id: sessionId, draft: readDraft(sessionId ?? NEW, outbox) });
    if (sessionId) refresh();
  }

  /** Read the open session again; calls during a read are answered by one more read. */
  async function refresh() {
    isStale = true;
    reading ??= readWhileStale().finally(() => (reading = null));
    await reading;
  }

  async function readWhileStale() {
    while (isStale) {
      isStale = false;
      const { open: sessionId, session } = store.get();
      if (sessionId) await read(sessionId, session);
    }
  }

  async function read(sessionId, shown) {
    const limit = Math.max(PAGE, (shown?.messages.length ?? 0) + OLDER);
    try {
      const { session } = await server.session(sessionId, shown ? limit : PAGE);
      store.dispatch({ type: "session/loaded", session });
      markSeen();
    } catch (failure) {
      if (store.get().session?.session_id === sessionId && !failure.status) return;
      const problem = { message: failure.message, isGone: failure.status === 404 };
      store.dispatch({ type: "session/problem", session_id: sessionId, problem });
    }
  }

  /** Tell the server that the newest reply was read here. */
  function markSeen() {
    const { session } = store.get();
    const last = session?.messages?.findLast((message) => message.role === "assistant");
    if (!session?.unread || !last || document.hidden) return;
    store.dispatch({ type: "session/seen" });
    server.seen(session.session_id, last.id).catch(() => {});
  }

  async function readEarlier() {
    const { open: sessionId, session } = store.get();
    const first = session?.messages[0];
    if (!first) return;
    await attempt(async () => {
      const { messages } = (await server.session(sessionId, OLDER, first.id)).session;
      store.dispatch({ type: "session/earlier", session_id: sessionId, messages });
    });
  }

  /** Show another variant of a message of the open session. */
  async function select(messageId) {
    await attempt(() => server.select(store.get().open, messageId));
    await refresh();
  }

  async function attempt(work) {
    try {
      await work();
    } catch (failure) {
      if (failure.status === 401) return;
      store.dispatch({ type: "toast/shown", toast: { text: failure.message } });
    }
  }

  return { followAddress, open, openAt, refresh, markSeen, readEarlier, select, attempt };
}
