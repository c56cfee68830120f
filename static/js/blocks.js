/** Rendered blocks on the page: each is set once, and grows while it is open. */

import { dressCode } from "./code.js";
import { appendText, h } from "./dom.js";
import { dressImages } from "./image.js";
import { setHtml, unescaped } from "./markup.js";

const shown = new WeakMap();

/** Bring the children of `container` in step with `blocks`, each `{html, added}`; what is the same stays untouched. */
export function showBlocks(container, blocks) {
  blocks.forEach((block, place) => {
    const element = container.children[place] ?? container.appendChild(h("div", { class: "block" }));
    showBlock(element, block);
  });
  while (container.children.length > blocks.length) container.lastChild.remove();
}

function showBlock(element, { html, added }) {
  const before = shown.get(element);
  if (before?.html !== html || !added.startsWith(before.added)) {
    replace(element, html);
    grow(element, added);
  } else if (added !== before.added) {
    grow(element, added.slice(before.added.length));
  }
  shown.set(element, { html, added });
}

/** Set a block anew; a control in it that has the focus hands it to its like. */
function replace(element, html) {
  const focused = controls(element).indexOf(document.activeElement);
  setHtml(element, html);
  element.hidden = html === "";
  dressCode(element);
  dressImages(element);
  if (focused !== -1) controls(element)[focused]?.focus({ preventScroll: true });
}

/** What is added goes to the plain end of a block, or into the code that is still open. */
function grow(element, html) {
  if (html === "") return;
  const place = element.querySelector(":scope > .plain") ?? element.querySelector("code");
  appendText(place, unescaped(html));
}

function controls(element) {
  return [...element.querySelectorAll("a, button, summary, [tabindex]")];
}
