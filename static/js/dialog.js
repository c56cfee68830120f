/** What every dialog does: it closes by its button, by Escape and by a press beside it, and tells so. */

/** The dialog `id`, with a button `<id>-close`; `onClosed` runs after every closing. */
export function createDialog(id, onClosed) {
  const dialog = document.getElementById(id);
  dialog.addEventListener("close", onClosed);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  document.getElementById(`${id}-close`).addEventListener("click", () => dialog.close());

  /** Open or close it, where it is not so already. */
  function show(isOpen) {
    if (isOpen && !dialog.open) dialog.showModal();
    else if (!isOpen && dialog.open) dialog.close();
  }

  return { show, close: () => dialog.close() };
}
