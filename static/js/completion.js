/** Completion of slash commands: which ones fit, and the list above the message box. */

import { h, label } from "./dom.js";

/** The commands that a text may become, only while its first word is being typed; names before aliases. */
export function fitting(commands, text) {
  const match = /^\/([a-z-]*)$/i.exec(text);
  if (!match) return [];
  const start = match[1].toLowerCase();
  const isNamed = (command) => command.name.startsWith(start);
  const isAlias = (command) => !isNamed(command) && command.aliases.some((name) => name.startsWith(start));
  return [...commands.filter(isNamed), ...commands.filter(isAlias)];
}

/** What the state shows as completion now; empty when the list is closed. */
export function shownCompletion({ completion, commands, draft }) {
  return completion.isClosed ? [] : fitting(commands, draft.text);
}

export function createCompletion(box, act) {
  const list = document.getElementById("completion");
  let shown = "";

  return (state) => {
    const found = shownCompletion(state);
    const active = Math.min(state.completion.active, found.length - 1);
    const now = `${found.map((command) => command.name).join()} ${active}`;
    if (now === shown) return;
    shown = now;
    list.hidden = found.length === 0;
    list.replaceChildren(...found.map((command, place) => option(command, place === active, act)));
    box.setAttribute("aria-expanded", String(found.length > 0));
    if (found.length > 0) box.setAttribute("aria-activedescendant", optionId(found[active]));
    else box.removeAttribute("aria-activedescendant");
    list.children[active]?.scrollIntoView({ block: "nearest" });
  };
}

function option(command, isActive, act) {
  const also = command.aliases.length > 0 ? ` (also ${command.aliases.map((name) => `/${name}`).join(", ")})` : "";
  const item = h(
    "li",
    { id: optionId(command), role: "option", "aria-selected": String(isActive) },
    h("span", { class: "command-name" }, `/${command.name}`, command.hint ? h("span", { class: "command-hint" }, ` ${command.hint}`) : null),
    h("span", { class: "command-help" }),
  );
  label(item.lastChild, command.help + also);
  item.addEventListener("pointerdown", (event) => event.preventDefault());
  item.addEventListener("click", () => act.complete(command));
  return item;
}

function optionId(command) {
  return `command-${command.name}`;
}
