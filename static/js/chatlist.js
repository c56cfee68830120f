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

  /** Begin to give a chat a title in place; null ends it. */
  function startRename(sessionId) {
    dispatch({ type: "renaming", session_id: sessionId });
  }

  async function rename(sessionId, title) {
    startRename(null);
    await sessions.attempt(() => server.rename(sessionId, title));
  }

  async function pin(sessionId, isPinned) {
    await change(() => server.pin(sessionId, isPinned));
  }

  async function archive(sessionId, isArchived) {
    const title = rowOf(sessionId)?.title || "Untitled";
    await change(() => server.archive(sessionId, isArchived), isArchived ? { text: `Archived “${title}”.`, undo: { name: "archive", session_id: sessionId } } : null);
  }

  async function duplicate(sessionId) {
    await sessions.attempt(async () => sessions.open((await server.duplicate(sessionId)).session_id));
  }

  /** Begin to say in which project a chat is and which tags it has; null ends it. */
  function startLabels(sessionId) {
    dispatch({ type: "labelling", labelling: sessionId && { row: rowOf(sessionId), problem: "" } });
    if (sessionId) readFacets();
  }

  /** Give a chat its project and tags; a refusal is said where they are typed, and they stay there. */
  async function label(row, { project, tags }) {
    const id = row.session_id;
    try {
      if (project !== (row.project ?? "")) shown((await server.move(id, project || null)).session);
      if (tags.join() !== (row.tags ?? []).join()) shown((await server.tag(id, tags)).session);
    } catch (failure) {
      const { labelling } = store.get();
      if (labelling) dispatch({ type: "labelling", labelling: { ...labelling, problem: failure.message } });
      return;
    }
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

  /** Take back what a notice tells of. */
  async function takeBack({ name, session_id, wasOpen }) {
    dispatch({ type: "toast/closed" });
    if (name === "archive") return archive(session_id, false);
    await sessions.attempt(async () => {
      shown((await server.restore(session_id)).session);
      if (wasOpen) sessions.open(session_id);
    });
  }

  async function change(work, toast = null) {
    await sessions.attempt(async () => {
      shown((await work()).session);
      if (toast) dispatch({ type: "toast/shown", toast });
    });
  }

  function shown(row) {
    dispatch({ type: "list/row", session_id: row.session_id, row });
  }

  function rowOf(sessionId) {
    return store.get().list.rows.find(({ session_id }) => session_id === sessionId);
  }

  return { read, choose, readFacets, startRename, rename, pin, archive, duplicate, startLabels, label, remove, takeBack };
}

/** A damaged file is not read again, so nothing can bring it back here. */
function deleted(sessionId, row, wasOpen) {
  if (row?.damaged) return { text: "Deleted a damaged chat. Its file stays in “trash” in the state folder for 30 days." };
  return { text: `Deleted “${row?.title || "Untitled"}”.`, undo: { name: "delete", session_id: sessionId, wasOpen } };
}
