/** Files of messages as elements: images are shown small, everything can be opened. */

import { h, icon } from "./dom.js";
import { size } from "./format.js";

/** `fetchFile(id)` gives the address of a file within this page; rejects where it is gone. */
export function createFiles(fetchFile) {
  const addresses = new Map();

  function addressOf(id) {
    if (!addresses.has(id)) {
      const address = fetchFile(id);
      addresses.set(id, address);
      address.catch(() => addresses.delete(id));
    }
    return addresses.get(id);
  }

  /** The files of one message; null where it has none. */
  function list(attachments) {
    const files = (Array.isArray(attachments) ? attachments : []).filter((file) => typeof file?.id === "string");
    return files.length === 0 ? null : h("ul", { class: "files", "aria-label": "Files" }, ...files.map(item));
  }

  function item(file) {
    const said = h("span", { class: "file-size" }, size(file.size));
    const name = h("span", { class: "file-name", dir: "auto" }, file.filename || "file");
    const open = h("a", { class: "file", href: "#", download: file.is_image ? null : file.filename || "file.txt" }, icon(file.is_image ? "image" : "file"), name, said);
    const ready = (address) => {
      open.href = address;
      if (file.is_image) showImage(open, address, file);
    };
    const gone = () => {
      said.textContent = "gone";
      open.removeAttribute("href");
    };
    addressOf(file.id).then(ready, gone);
    return h("li", {}, open);
  }

  return { list };
}

/** A press opens the whole image; what the name of a file says stays text. */
function showImage(open, address, { filename }) {
  open.target = "_blank";
  open.rel = "noopener";
  open.classList.add("is-image");
  open.replaceChildren(h("img", { src: address, alt: filename || "Image" }));
}
