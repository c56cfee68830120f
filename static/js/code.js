/** Code in a message: its language, and a button that copies exactly its characters. */

import { copy } from "./copying.js";
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
