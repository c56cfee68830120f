/** What a person does with sessions: open, list, name, delete, bring back. */

import { readDraft } from "./drafts.js";
import { NEW } from "./state.js";

const PAGE = 100;
const OLDER = 200;

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
    history.pushState(null, "", `#${new URLSearchParams({ session: sessionId, message: messageId })}`);
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

  async function readList(isMore = false) {
    const { list } = store.get();
    if (list.state === "reading" || (isMore && !list.next)) return;
    store.dispatch({ type: "list/reading" });
    try {
      const { sessions, next } = await server.sessions(isMore ? list.next : undefined);
      store.dispatch({ type: "list/page", rows: sessions, next, replace: !isMore });
    } catch (failure) {
      store.dispatch({ type: "list/problem", problem: failure.message });
    }
  }

  async function rename(sessionId, title) {
    store.dispatch({ type: "renaming", session_id: null });
    await attempt(() => server.rename(sessionId, title));
  }

  /** Show another variant of a message of the open session. */
  async function select(messageId) {
    await attempt(() => server.select(store.get().open, messageId));
    await refresh();
  }

  async function remove(sessionId) {
    const { list, open: shown } = store.get();
    const row = list.rows.find(({ session_id }) => session_id === sessionId);
    await attempt(async () => {
      await server.remove(sessionId);
      store.dispatch({ type: "list/row", session_id: sessionId, row: null });
      store.dispatch({ type: "toast/shown", toast: deleted(sessionId, row, shown === sessionId) });
      if (store.get().open === sessionId) open(null);
    });
  }

  async function restore(toast) {
    store.dispatch({ type: "toast/closed" });
    await attempt(async () => {
      const { session } = await server.restore(toast.restores);
      store.dispatch({ type: "list/row", session_id: session.session_id, row: session });
      if (toast.wasOpen) open(session.session_id);
    });
  }

  async function attempt(work) {
    try {
      await work();
    } catch (failure) {
      if (failure.status === 401) return;
      store.dispatch({ type: "toast/shown", toast: { text: failure.message } });
    }
  }

  return { followAddress, open, openAt, refresh, markSeen, readEarlier, readList, rename, select, remove, restore };
}

/** A damaged file is not read again, so nothing can bring it back here. */
function deleted(sessionId, row, wasOpen) {
  if (row?.damaged) return { text: "Deleted a damaged chat. Its file stays in “trash” in the state folder for 30 days." };
  return { text: `Deleted “${row?.title || "Untitled"}”.`, restores: sessionId, wasOpen };
}
