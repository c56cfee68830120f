/** The list of sessions as a value: pages and single changes merged, newest activity first. */

/** The filter that lets every chat through that is not in the archive. */
export const ALL = { archived: false, project: null, tag: null };

/** Add a page of rows; with `replace` it is the first page and the list begins anew. */
export function withPage(list, { rows, next, replace }) {
  const known = new Map(list.rows.map((row) => [row.session_id, row]));
  const fresh = rows
    .filter((row) => !list.gone.includes(row.session_id))
    .map((row) => newer(known.get(row.session_id), row));
  const ids = new Set(fresh.map((row) => row.session_id));
  const kept = replace ? [] : list.rows.filter((row) => !ids.has(row.session_id));
  return { ...list, rows: [...kept, ...fresh].sort(inOrder), next, state: "read", problem: "" };
}

/** Put one changed row in its place; a `row` of null means that the session is gone. */
export function withRow(list, sessionId, row) {
  const known = list.rows.find((entry) => entry.session_id === sessionId);
  const others = list.rows.filter((entry) => entry.session_id !== sessionId);
  if (!row) return { ...list, rows: others, gone: [...list.gone, sessionId] };
  const gone = list.gone.filter((id) => id !== sessionId);
  if (!isListed(row, list.filter)) return { ...list, rows: others, gone };
  const shown = newer(known, row);
  const last = others.at(-1);
  const isBelow = list.next !== null && last && inOrder(last, shown) < 0;
  if (isBelow) return { ...list, rows: others, gone };
  return { ...list, rows: [...others, shown].sort(inOrder), gone };
}

function newer(known, row) {
  return known && known.revision > row.revision ? known : row;
}

function isListed(row, { archived, project, tag }) {
  const isChosen = (project === null || row.project === project) && (tag === null || row.tags?.includes(tag));
  return isChosen && Boolean(row.archived) === archived && Boolean(row.title || row.message_count || row.queued || row.damaged);
}

function inOrder(a, b) {
  if (a.pinned !== b.pinned) return a.pinned ? -1 : 1;
  if (a.updated_at !== b.updated_at) return b.updated_at - a.updated_at;
  return a.session_id < b.session_id ? 1 : -1;
}
