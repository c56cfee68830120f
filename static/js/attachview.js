/** The files above the message box, and the ways in: a button, paste and drop. */

import { h, icon, iconButton, reconcile } from "./dom.js";
import { size } from "./format.js";

const LONG_PASTE = 8000;

export function createAttachView(attaching) {
  const list = document.getElementById("draft-files");
  const box = document.getElementById("message");
  const chat = document.querySelector(".chat");
  const picker = document.getElementById("file-picker");
  let depth = 0;

  document.getElementById("attach").addEventListener("click", () => picker.click());
  picker.addEventListener("change", () => {
    attaching.add([...picker.files]);
    picker.value = "";
    box.focus();
  });
  box.addEventListener("paste", pasted);
  // A file that misses the chat must not replace the page.
  for (const type of ["dragover", "drop"]) addEventListener(type, (event) => hasFiles(event) && event.preventDefault());
  chat.addEventListener("dragenter", (event) => hasFiles(event) && mark((depth += 1)));
  chat.addEventListener("dragleave", (event) => hasFiles(event) && mark((depth = Math.max(0, depth - 1))));
  chat.addEventListener("drop", dropped);

  function mark(count) {
    chat.classList.toggle("is-drop", count > 0);
  }

  function dropped(event) {
    mark((depth = 0));
    if (!hasFiles(event)) return;
    event.preventDefault();
    const entries = [...event.dataTransfer.items].filter((item) => item.kind === "file");
    const folders = entries.filter((item) => item.webkitGetAsEntry?.()?.isDirectory);
    if (folders.length > 0) attaching.refuse("A folder cannot be attached. Attach the files in it.");
    attaching.add(entries.filter((item) => !folders.includes(item)).map((item) => item.getAsFile()));
    box.focus();
  }

  /** Office programs give a picture of the text beside it: the text is meant. A long text becomes a file. */
  function pasted(event) {
    const { files, types } = event.clipboardData;
    const text = event.clipboardData.getData("text/plain");
    if (files.length > 0 && !(text && types.includes("text/html"))) {
      event.preventDefault();
      attaching.add([...files]);
    } else if (text.length > LONG_PASTE) {
      event.preventDefault();
      attaching.addText(text);
    }
  }

  return ({ draft, uploads, visit }) => {
    const files = draft.attachments.map((file, place) => ({ key: `${place} ${file.id}`, file, place }));
    const coming = uploads.filter((upload) => upload.visit === visit).map((upload) => ({ key: upload.key, file: upload, isComing: true }));
    const items = [...files, ...coming];
    reconcile(list, items, { key: ({ key }) => key, create: createChip, isSame: (a, b) => a.file === b.file });
    list.hidden = items.length === 0;
  };

  function createChip({ file, place, isComing = false }) {
    const note = h("span", { class: "file-size" }, isComing ? "Uploading…" : size(file.size));
    const remove = isComing ? null : iconButton("close", `Remove ${file.filename}`, () => removed(place));
    return h("li", { class: "file" }, icon(file.is_image ? "image" : "file"), h("span", { class: "file-name", dir: "auto" }, file.filename), note, remove);
  }

  function removed(place) {
    attaching.remove(place);
    box.focus();
  }
}

function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files") ?? false;
}
