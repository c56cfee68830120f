/** The list of sessions: open, rename in place, delete. */

import { h, iconButton, label, reconcile } from "./dom.js";
import { ago, fullTime } from "./format.js";

const REFRESH_MS = 60_000;

export function createSidebar(act) {
  const list = document.getElementById("session-list");
  const scroll = document.getElementById("session-scroll");
  const more = document.getElementById("session-more");
  const note = document.getElementById("session-note");
  const sidebar = document.getElementById("sidebar");
  const shade = document.getElementById("drawer-shade");
  const opener = document.getElementById("drawer-open");
  let shownList = null;
  let shownWith = "";

  document.getElementById("new-chat").addEventListener("click", act.newChat);
  opener.addEventListener("click", () => act.drawer(true));
  document.getElementById("drawer-close").addEventListener("click", () => act.drawer(false));
  shade.addEventListener("click", () => act.drawer(false));
  more.addEventListener("click", act.moreSessions);
  list.addEventListener("click", (event) => event.target.closest("a") && act.drawer(false));
  const watcher = new IntersectionObserver(([entry]) => entry.isIntersecting && act.moreSessions(), { root: scroll });
  watcher.observe(more);
  setInterval(refreshTimes, REFRESH_MS);

  function render({ list: sessions, open, renaming, drawer }) {
    showDrawer(drawer);
    const shownNow = `${open} ${renaming}`;
    if (sessions === shownList && shownNow === shownWith) return;
    const hasMore = shownList?.next !== sessions.next;
    [shownList, shownWith] = [sessions, shownNow];
    const items = sessions.rows.map((row) => ({ row, isOpen: row.session_id === open, isRenamed: row.session_id === renaming }));
    reconcile(list, items, { key: (item) => item.row.session_id, create: (item) => createRow(item, act), isSame: isSameRow });
    if (renaming) list.querySelector("input")?.focus();
    label(note, sessions.problem || (sessions.state === "read" && items.length === 0 ? "No chats yet." : ""));
    note.hidden = note.textContent === "";
    more.hidden = sessions.next === null;
    if (hasMore) lookAgain();
  }

  /** A list that is still too short to scroll asks for the next page at once. */
  function lookAgain() {
    watcher.unobserve(more);
    watcher.observe(more);
  }

  function showDrawer(isOpen) {
    if (sidebar.classList.contains("is-open") === isOpen) return;
    sidebar.classList.toggle("is-open", isOpen);
    shade.hidden = !isOpen;
    opener.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) document.getElementById("new-chat").focus({ preventScroll: true });
    else if (sidebar.contains(document.activeElement)) opener.focus({ preventScroll: true });
  }

  return render;
}

function createRow({ row, isOpen, isRenamed }, act) {
  const id = row.session_id;
  if (isRenamed) return h("li", { class: "session" }, createRename(row, act));
  const name = row.damaged ? "Damaged chat" : row.title || "Untitled";
  const link = h(
    "a",
    { class: "session-link", href: `#session=${encodeURIComponent(id)}`, "aria-current": isOpen ? "page" : null },
    h("span", { class: "session-line" }, h("span", { class: "session-title", dir: "auto" }, name), createTime(row)),
    h("span", { class: "session-line" }, h("span", { class: "session-snippet", dir: "auto" }, snippetOf(row)), ...marks(row, isOpen)),
  );
  const buttons = h(
    "div",
    { class: "session-buttons" },
    row.damaged ? null : iconButton("edit", `Rename ${name}`, () => act.startRename(id)),
    iconButton("delete", `Delete ${name}`, () => act.remove(id)),
  );
  return h("li", { class: `session${isOpen ? " is-open" : ""}` }, link, buttons);
}

function createTime({ updated_at: time }) {
  return h("time", { class: "session-time", title: fullTime(time), "data-time": time }, ago(time, Date.now() / 1000));
}

function snippetOf(row) {
  if (row.damaged) return row.session_id;
  return row.snippet || (row.message_count > 0 ? "No text" : "No messages");
}

function marks(row, isOpen) {
  const shown = [];
  if (row.damaged) shown.push(h("span", { class: "mark mark-bad" }, "damaged"));
  if (row.running) shown.push(h("span", { class: "mark mark-running" }, "writing"));
  if (row.queued) shown.push(h("span", { class: "mark" }, `${row.queued} waiting`));
  if (row.unread && !row.running && !isOpen) shown.push(h("span", { class: "mark mark-unread" }, "new"));
  return shown;
}

function createRename(row, act) {
  let isOver = false;
  const input = h("input", { class: "session-rename", "aria-label": "Title of this chat", maxlength: 200, value: row.title });
  const end = (isKept) => {
    if (isOver) return;
    isOver = true;
    if (isKept && input.value.trim() !== row.title) act.rename(row.session_id, input.value);
    else act.startRename(null);
  };
  input.addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229) return;
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    end(event.key === "Enter");
  });
  input.addEventListener("blur", () => end(true));
  input.addEventListener("focus", () => input.select(), { once: true });
  return input;
}

function isSameRow(a, b) {
  if (a.isRenamed || b.isRenamed) return a.isRenamed && b.isRenamed;
  return a.row === b.row && a.isOpen === b.isOpen;
}

function refreshTimes() {
  for (const time of document.querySelectorAll("time[data-time]")) label(time, ago(Number(time.dataset.time), Date.now() / 1000));
}
