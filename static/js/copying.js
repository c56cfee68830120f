/** Text onto the clipboard, also where the browser has none to give. */

import { h } from "./dom.js";

/** Whether the text is on the clipboard now. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

/** Without TLS, a page under a name has no clipboard of its own. */
function copyBySelection(text) {
  const field = h("textarea", { class: "visually-hidden", readonly: true });
  field.value = text;
  const focused = document.activeElement;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus({ preventScroll: true });
  return isCopied;
}
