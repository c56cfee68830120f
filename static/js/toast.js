/** A short notice at the edge, such as a deletion that can be undone. */

import { h, iconButton } from "./dom.js";
import { messages } from "./focus.js";

const SHOWN_MS = 15_000;

export function createToast(act) {
  const element = document.getElementById("toast");
  let shown = null;
  let timer = null;

  const wait = () => (timer = setTimeout(act.closeToast, SHOWN_MS));
  for (const type of ["pointerenter", "focusin"]) element.addEventListener(type, () => clearTimeout(timer));
  for (const type of ["pointerleave", "focusout"]) {
    element.addEventListener(type, () => {
      clearTimeout(timer);
      wait();
    });
  }

  return ({ toast }) => {
    if (toast === shown) return;
    shown = toast;
    clearTimeout(timer);
    if (element.contains(document.activeElement)) messages().focus({ preventScroll: true });
    element.hidden = toast === null;
    element.replaceChildren();
    if (!toast) return;
    element.append(h("span", {}, toast.text));
    if (toast.undo) element.append(h("button", { type: "button", class: "button button-small", on: { click: () => act.takeBack(toast.undo) } }, "Undo"));
    element.append(iconButton("close", "Dismiss", act.closeToast));
    wait();
  };
}
