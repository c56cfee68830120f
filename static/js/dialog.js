/** What every dialog does: a person closes it by its button, by Escape and by a press beside it. */

/** The dialog `id`, with a button `<id>-close`; `closed` runs when a person has closed it. */
export function createDialog(id, closed) {
  const dialog = document.getElementById(id);
  let isOurs = false;

  document.getElementById(`${id}-close`).addEventListener("click", leave);
  dialog.addEventListener("click", (event) => event.target === dialog && leave());
  dialog.addEventListener("cancel", (event) => {
    if (event.target !== dialog) return;
    event.preventDefault();
    leave();
  });
  // The event comes later than the closing: by then what was closed here may be wanted again.
  dialog.addEventListener("close", () => {
    if (!isOurs) closed();
    isOurs = false;
  });

  /** Open or close it, where it is not so already. */
  function show(isOpen) {
    if (isOpen && !dialog.open) dialog.showModal();
    if (isOpen || !dialog.open) return;
    isOurs = true;
    dialog.close();
  }

  function leave() {
    show(false);
    closed();
  }

  return { show };
}
