/** A question before something that cannot be taken back. */

import { createDialog } from "./dialog.js";

export function createConfirm() {
  const [title, text, yes, no] = ["confirm-title", "confirm-text", "confirm-yes", "confirm-no"].map((id) => document.getElementById(id));
  let answer = () => {};
  const dialog = createDialog("confirm", () => answer(false));

  yes.addEventListener("click", () => end(true));
  no.addEventListener("click", () => end(false));

  function end(isWanted) {
    dialog.show(false);
    answer(isWanted);
  }

  /** Whether a person wants it; `button` names what is done. */
  return (question) =>
    new Promise((resolve) => {
      answer = resolve;
      title.textContent = question.title;
      text.textContent = question.text;
      yes.textContent = question.button;
      dialog.show(true);
      no.focus();
    });
}
