/** The list of sessions by days: open, rename in place, and a menu for the rest. */

import { h, iconButton, label, reconcile } from "./dom.js";
import { ago, dayGroup, fullTime } from "./format.js";
import { openMenu } from "./menu.js";

const REFRESH_MS = 60_000;

export function createSidebar(act, chats) {
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
  more.addEventListener("click", () => chats.read(true));
  list.addEventListener("click", (event) => event.target.closest("a") && act.drawer(false));
  const watcher = new IntersectionObserver(([entry]) => entry.isIntersecting && chats.read(true), { root: scroll });
  watcher.observe(more);
  let last = null;
  setInterval(() => {
    refreshTimes();
    if (last) render(last);
  }, REFRESH_MS);

  function render(state) {
    const { list: sessions, open, renaming, drawer } = state;
    last = state;
    showDrawer(drawer);
    const shownNow = `${open} ${renaming} ${new Date().toDateString()}`;
    if (sessions === shownList && shownNow === shownWith) return;
    const hasMore = shownList?.next !== sessions.next;
    [shownList, shownWith] = [sessions, shownNow];
    const rows = sessions.rows.map((row) => ({ row, isOpen: row.session_id === open, isRenamed: row.session_id === renaming }));
    reconcile(list, withDays(rows), { key: keyOf, create: (item) => (item.row ? createRow(item, act, chats) : createDay(item)), isSame: isSameItem });
    if (renaming) list.querySelector("input")?.focus();
    label(note, sessions.problem || (sessions.state === "read" && rows.length === 0 ? noneOf(sessions.filter) : ""));
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

function createRow({ row, isOpen, isRenamed }, act, chats) {
  const id = row.session_id;
  if (isRenamed) return h("li", { class: "session" }, createRename(row, chats));
  const name = row.damaged ? "Damaged chat" : row.title || "Untitled";
  const link = h(
    "a",
    { class: "session-link", href: `#session=${encodeURIComponent(id)}`, "aria-current": isOpen ? "page" : null },
    h("span", { class: "session-line" }, h("span", { class: "session-title", dir: "auto" }, name), createTime(row)),
    h("span", { class: "session-line" }, h("span", { class: "session-snippet", dir: "auto" }, snippetOf(row)), ...marks(row, isOpen)),
  );
  const options = iconButton("more", `Options for ${name}`, (event) => openOptions(event.currentTarget, row, act, chats), { "aria-haspopup": "menu" });
  const buttons = h("div", { class: "session-buttons" }, options);
  return h("li", { class: `session${isOpen ? " is-open" : ""}` }, link, buttons);
}

function openOptions(button, row, act, chats) {
  const id = row.session_id;
  const remove = { text: "Delete", run: () => act.remove(id) };
  const rest = [
    { text: "Rename", run: () => chats.startRename(id) },
    { text: row.pinned ? "Unpin" : "Pin", run: () => chats.pin(id, !row.pinned) },
    { text: "Project and tags", run: () => chats.startLabels(id) },
    { text: "Duplicate", run: () => chats.duplicate(id) },
    { text: row.archived ? "Take out of the archive" : "Archive", run: () => chats.archive(id, !row.archived) },
  ];
  const find = () => document.querySelector(`#session-list > [data-key="${CSS.escape(id)}"] .icon-button`);
  openMenu(button, button.getAttribute("aria-label"), row.damaged ? [remove] : [...rest, remove], find);
}

/** The items with the name of each day before those of it; pinned ones come first. */
function withDays(rows) {
  const items = [];
  let shown = null;
  for (const item of rows) {
    const day = item.row.pinned ? "Pinned" : dayGroup(item.row.updated_at);
    if (day !== shown) items.push({ day });
    items.push(item);
    shown = day;
  }
  return items;
}

function createDay({ day }) {
  return h("li", { class: "session-day" }, h("h2", {}, day));
}

function keyOf({ day, row }) {
  return row ? row.session_id : `day ${day}`;
}

function noneOf({ archived, project, tag }) {
  if (archived) return "The archive is empty.";
  return project || tag ? "No chats here." : "No chats yet.";
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

function createRename(row, chats) {
  let isOver = false;
  const input = h("input", { class: "session-rename", "aria-label": "Title of this chat", maxlength: 200, value: row.title });
  const end = (isKept) => {
    if (isOver) return;
    isOver = true;
    if (isKept && input.value.trim() !== row.title) chats.rename(row.session_id, input.value);
    else chats.startRename(null);
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

function isSameItem(a, b) {
  if (!a.row || !b.row) return a.day === b.day;
  if (a.isRenamed || b.isRenamed) return a.isRenamed && b.isRenamed;
  return a.row === b.row && a.isOpen === b.isOpen;
}

function refreshTimes() {
  for (const time of document.querySelectorAll("time[data-time]")) label(time, ago(Number(time.dataset.time), Date.now() / 1000));
}
