/** The list of chats: which are shown, and what a person does with one without opening it. */

import { ALL } from "./rows.js";

export function createChatList(store, server, sessions) {
  const { dispatch } = store;

  async function read(isMore = false) {
    const { list } = store.get();
    if (list.state === "reading" || (isMore && !list.next)) return;
    dispatch({ type: "list/reading" });
    const answer = await server.sessions(isMore ? list.next : undefined, list.filter).catch((failure) => ({ problem: failure.message }));
    // Meanwhile another part of the chats may have been chosen.
    if (store.get().list.filter !== list.filter) return;
    if (answer.problem) dispatch({ type: "list/problem", problem: answer.problem });
    else dispatch({ type: "list/page", rows: answer.sessions, next: answer.next, replace: !isMore });
  }

  /** Show only the chats of `filter`. */
  async function choose(filter) {
    dispatch({ type: "list/filter", filter });
    await read();
  }

  /** The projects and tags there are. */
  async function readFacets() {
    const facets = await server.facets().catch(() => null);
    if (facets) dispatch({ type: "facets", facets: { projects: facets.projects, tags: facets.tags } });
  }

  async function rename(sessionId, title) {
    dispatch({ type: "renaming", session_id: null });
    await sessions.attempt(() => server.rename(sessionId, title));
  }

  async function pin(sessionId, isPinned) {
    await change(sessionId, () => server.pin(sessionId, isPinned));
  }

  async function archive(sessionId, isArchived) {
    const title = rowOf(sessionId)?.title || "Untitled";
    await change(sessionId, () => server.archive(sessionId, isArchived), isArchived ? { text: `Archived “${title}”.`, unarchives: sessionId } : null);
  }

  async function duplicate(sessionId) {
    await sessions.attempt(async () => sessions.open((await server.duplicate(sessionId)).session_id));
  }

  /** Begin to say in which project a chat is and which tags it has; null ends it. */
  function startLabels(sessionId) {
    dispatch({ type: "labelling", row: sessionId && rowOf(sessionId) });
    if (sessionId) readFacets();
  }

  async function label(row, { project, tags }) {
    const id = row.session_id;
    if (project !== (row.project ?? "")) await change(id, () => server.move(id, project || null));
    if (tags.join() !== (row.tags ?? []).join()) await change(id, () => server.tag(id, tags));
    startLabels(null);
    await readFacets();
    const { list, facets } = store.get();
    const isThere = (kind, name) => name === null || facets[kind].some((known) => known.name === name);
    // The last chat of a project or tag has left it.
    if (!isThere("projects", list.filter.project) || !isThere("tags", list.filter.tag)) await choose(ALL);
  }

  async function remove(sessionId) {
    const row = rowOf(sessionId);
    const wasOpen = store.get().open === sessionId;
    await sessions.attempt(async () => {
      await server.remove(sessionId);
      dispatch({ type: "list/row", session_id: sessionId, row: null });
      dispatch({ type: "toast/shown", toast: deleted(sessionId, row, wasOpen) });
      if (store.get().open === sessionId) sessions.open(null);
    });
  }

  async function restore(toast) {
    dispatch({ type: "toast/closed" });
    if (toast.unarchives) return archive(toast.unarchives, false);
    await sessions.attempt(async () => {
      const { session } = await server.restore(toast.restores);
      dispatch({ type: "list/row", session_id: session.session_id, row: session });
      if (toast.wasOpen) sessions.open(session.session_id);
    });
  }

  async function change(sessionId, work, toast = null) {
    await sessions.attempt(async () => {
      const { session } = await work();
      dispatch({ type: "list/row", session_id: sessionId, row: session });
      if (toast) dispatch({ type: "toast/shown", toast });
    });
  }

  function rowOf(sessionId) {
    return store.get().list.rows.find(({ session_id }) => session_id === sessionId);
  }

  return { read, choose, readFacets, rename, pin, archive, duplicate, startLabels, label, remove, restore };
}

/** A damaged file is not read again, so nothing can bring it back here. */
function deleted(sessionId, row, wasOpen) {
  if (row?.damaged) return { text: "Deleted a damaged chat. Its file stays in “trash” in the state folder for 30 days." };
  return { text: `Deleted “${row?.title || "Untitled"}”.`, restores: sessionId, wasOpen };
}
