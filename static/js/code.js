/** Code in a message: its language, and a button that copies exactly its characters. */

import { h, icon } from "./dom.js";

const SAID_MS = 2000;

/** Give each code box of `element` a head; the code itself is left alone. */
export function dressCode(element) {
  for (const pre of element.querySelectorAll("pre")) {
    const language = pre.dataset.language ?? "";
    const code = pre.firstElementChild ?? pre;
    const head = h("div", { class: "code-head" }, h("span", { class: "code-language" }, language || "text"), copyButton(code));
    const box = h("div", { class: "code" }, head);
    pre.replaceWith(box);
    pre.setAttribute("tabindex", "0");
    pre.setAttribute("role", "region");
    pre.setAttribute("aria-label", language ? `Code, ${language}` : "Code");
    box.append(pre);
  }
}

function copyButton(code) {
  const said = h("span", {}, "Copy");
  const click = async () => {
    said.textContent = (await copy(code.textContent)) ? "Copied" : "Not copied";
    setTimeout(() => (said.textContent = "Copy"), SAID_MS);
  };
  return h("button", { type: "button", class: "copy", "aria-live": "polite", on: { click } }, icon("copy"), said);
}

/** Whether the text is on the clipboard now. */
async function copy(text) {
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
