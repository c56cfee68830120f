/** The focus of the keyboard stays where a person works when what had it is drawn anew or goes. */

/** Do `work`. Then the focus is on the like of the button that was pressed, else on the messages. */
export async function keepFocus(work) {
  const pressed = document.activeElement;
  const place = alike(pressed).indexOf(pressed);
  await work();
  // What `work` has changed is drawn in the next frame, before this.
  requestAnimationFrame(() => document.activeElement === document.body && (alike(pressed)[place] ?? messages()).focus({ preventScroll: true }));
}

/** To scroll and to go on from with Tab; nothing that brings the keyboard of a phone up. */
export function messages() {
  return document.getElementById("transcript");
}

function alike(button) {
  const name = button.getAttribute("aria-label");
  return name ? [...document.querySelectorAll(`button[aria-label="${CSS.escape(name)}"]:not(:disabled)`)] : [];
}
