/** A message of the user in the place where its words are changed. */

import { h } from "./dom.js";

/** `text` is what stands there at first; `editing` has `type`, `leave` and `send`. */
export function messageEditor(text, editing) {
  const box = h("textarea", { class: "message-editor", rows: "3", dir: "auto", "aria-label": "Change the message" }, text);
  const isTouch = matchMedia("(pointer: coarse)");
  box.addEventListener("input", () => editing.type(box.value));

  function pressed(event) {
    if (event.isComposing || event.keyCode === 229 || event.shiftKey || event.altKey) return;
    const isSend = event.key === "Enter" && event.target === box && !isTouch.matches;
    if (!isSend && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    if (isSend) editing.send();
    else editing.leave();
  }

  const button = (name, kind, click) => h("button", { type: "button", class: `button button-small ${kind}`, on: { click } }, name);
  return h(
    "article",
    { class: "message message-user is-editing", "aria-label": "You", on: { keydown: pressed } },
    box,
    h("p", { class: "hint" }, "The chat goes on from here with a new reply; the old one stays as a variant."),
    h("div", { class: "waiting-buttons" }, button("Cancel", "button-quiet", editing.leave), button("Send", "button-main", editing.send)),
  );
}
