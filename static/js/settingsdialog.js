/** The dialog "Settings": this browser, the keyboard, deleted chats, and what the server was started with. */

import { createDialog } from "./dialog.js";
import { h, label, reconcile } from "./dom.js";
import { ago, fullTime } from "./format.js";
import { SHORTCUTS, keysOf } from "./keys.js";

export function createSettingsDialog(settings) {
  const dialog = createDialog("settings", settings.close);
  const [theme, enter, keys, trash, trashNote, purge, server, problem, said] = [
    "settings-theme", "settings-enter", "settings-keys", "settings-trash", "settings-trash-note", "settings-purge", "settings-server",
    "settings-problem", "settings-said",
  ].map((id) => document.getElementById(id));
  let shown = null;

  document.getElementById("settings-open").addEventListener("click", settings.open);
  theme.addEventListener("change", () => settings.choose("theme", theme.value));
  enter.addEventListener("change", () => settings.choose("enter", enter.value));
  purge.addEventListener("click", settings.purge);
  keys.append(...SHORTCUTS.flatMap((shortcut) => [h("dt", {}, h("kbd", {}, keysOf(shortcut))), h("dd", {}, shortcut.help)]));

  return ({ settings: state, preferences }) => {
    if (theme.value !== preferences.theme) theme.value = preferences.theme;
    if (enter.value !== preferences.enter) enter.value = preferences.enter;
    if (state === shown) return;
    shown = state;
    dialog.show(state !== null);
    if (!state) return;
    label(problem, state.problem);
    label(said, state.said);
    showTrash(state.trash);
    const isSame = (a, b) => JSON.stringify(a) === JSON.stringify(b);
    reconcile(server, state.rows ?? [], { key: ({ name }) => name, create: (row) => settingRow(row, settings), isSame });
  };

  function showTrash(chats) {
    const isSame = (a, b) => a.session_id === b.session_id && a.title === b.title;
    reconcile(trash, chats ?? [], { key: ({ session_id }) => session_id, create: (chat) => trashCard(chat, settings), isSame });
    purge.hidden = !chats?.length;
    label(trashNote, chats?.length === 0 ? "There are none." : "They are kept for 30 days.");
    trashNote.hidden = chats === null;
  }
}

function trashCard(chat, settings) {
  const name = chat.title || (chat.damaged ? "Damaged chat" : "Untitled");
  const time = h("time", { class: "hint", title: fullTime(chat.deleted_at) }, `deleted ${ago(chat.deleted_at, Date.now() / 1000)}`);
  const click = () => settings.restore(chat);
  const restore = h("button", { type: "button", class: "button button-small", "aria-label": `Restore ${name}`, on: { click } }, "Restore");
  return h("li", { class: "card" }, h("div", { class: "card-line" }, h("span", { class: "trash-title", dir: "auto" }, name), time, chat.damaged ? null : restore));
}

/** A row of the server's settings; one that is given by a flag or the environment says so and is changed there. */
function settingRow(row, settings) {
  const id = `setting-${row.name}`;
  const name = row.name.replaceAll("_", " ");
  const shown = row.editable
    ? [h("label", { for: id }, name), field(row, id, settings)]
    : [h("span", { class: "setting-name" }, name), h("span", { class: "setting-value" }, text(row.value) || "–")];
  return h("li", { class: "setting" }, ...shown, h("p", { class: "hint" }, `${row.help.replaceAll("`", "")}${whereToChange(row)}`));
}

function whereToChange({ editable, source }) {
  if (editable) return "";
  return source === "default" ? " It is given when Talaria is started." : ` Given by ${source}; it is changed there.`;
}

function field(row, id, settings) {
  const value = row.stored ?? row.value;
  if (typeof row.value === "boolean") {
    const box = h("input", { id, type: "checkbox" });
    box.checked = value === true;
    box.addEventListener("change", () => settings.set(row.name, box.checked));
    return box;
  }
  const input = h("input", { id, autocomplete: "off", spellcheck: "false", value: text(value) });
  input.addEventListener("change", () => settings.set(row.name, input.value.trim() === "" ? null : input.value.trim()));
  return input;
}

function text(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return Array.isArray(value) ? value.join(", ") : String(value);
}
