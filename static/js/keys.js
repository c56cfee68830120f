/** The keyboard: one table for the handler and for every list of shortcuts. */

export const SHORTCUTS = [
  { key: "o", mod: true, shift: true, name: "new", help: "New chat" },
  { key: "k", mod: true, shift: false, name: "search", help: "Search in all chats" },
  { key: ",", mod: true, shift: false, name: "settings", help: "Settings and shortcuts" },
  { key: "Escape", mod: false, shift: true, name: "focus", help: "Go to the message box" },
  { key: "Escape", mod: false, shift: false, name: "escape", help: "Close what is open, else stop the reply" },
];

/** The keys of a shortcut as people write them. */
export function keysOf({ key, mod, shift }) {
  const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
  const name = key.length === 1 ? key.toUpperCase() : { Escape: "Esc" }[key] ?? key;
  return [mod ? (isMac ? "⌘" : "Ctrl") : "", shift ? "Shift" : "", name].filter(Boolean).join("+");
}

/** Run `actions[name]` for each shortcut; keys that compose a character are left alone. */
export function handleKeys(actions) {
  addEventListener("keydown", (event) => {
    if (event.isComposing || event.keyCode === 229 || event.defaultPrevented || event.altKey) return;
    const found = SHORTCUTS.find((shortcut) => isPressed(shortcut, event));
    if (found && actions[found.name]() !== false) event.preventDefault();
  });
}

function isPressed(shortcut, event) {
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const mod = event.ctrlKey || event.metaKey;
  return key === shortcut.key && mod === shortcut.mod && event.shiftKey === shortcut.shift;
}
