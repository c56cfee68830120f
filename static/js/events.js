/** Keeps the page in step with other tabs and surfaces: one stream of changes, read while the page is seen. */

import { follow } from "./follow.js";

export function createEvents(store, server, sessions, chats, models, facts) {
  let cursor;
  let follower = null;
  let isStarted = false;

  function start() {
    if (isStarted) return;
    isStarted = true;
    document.addEventListener("visibilitychange", settle);
    store.listen(settle);
    settle();
  }

  /** A hidden page holds no stream: a browser allows only a few to one server. The cursor closes the gap. */
  function settle() {
    const isWanted = !document.hidden && store.get().auth.token !== null;
    if (isWanted && !follower) {
      follower = read();
      sessions.markSeen();
    } else if (!isWanted && follower) {
      follower.stop();
      follower = null;
    }
  }

  function read() {
    return follow({
      connect: (reader) => server.allEvents(cursor, reader),
      onEvent: hear,
      onLink: linked,
      onRefused: () => linked("lost"),
    });
  }

  function linked(link) {
    store.dispatch({ type: "link", link });
    if (link === "lost" && store.get().list.state === "unread") chats.read();
  }

  function hear({ type, id, data }) {
    if (type === "hello") greeted(data);
    else if (type === "reset") restarted(data);
    else if (type === "sessions_changed") changed(data);
    else if (type === "memory") facts.changed();
    if (id) cursor = id;
  }

  function greeted(data) {
    const isFirst = cursor === undefined;
    if (!isFirst) return;
    cursor = data.cursor;
    readAll();
  }

  /** The gap is too old, or the server is another process than before. */
  function restarted(data) {
    cursor = data.cursor;
    readAll();
    models.read();
  }

  function readAll() {
    chats.read();
    sessions.refresh();
  }

  function changed({ session_id, row }) {
    const { open, session } = store.get();
    store.dispatch({ type: "list/row", session_id, row });
    if (session_id !== open) return;
    if (!row) gone(session_id);
    else if (!session || row.revision > session.revision) sessions.refresh();
    else if (row.unread && !session.unread && !row.running) sessions.refresh();
  }

  function gone(sessionId) {
    const { undo } = store.get().toast ?? {};
    if (undo?.name !== "delete" || undo.session_id !== sessionId) {
      const toast = { text: "This chat was deleted.", undo: { name: "delete", session_id: sessionId, wasOpen: true } };
      store.dispatch({ type: "toast/shown", toast });
    }
    sessions.open(null);
  }

  return { start };
}
