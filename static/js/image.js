/** Images that a message names: nothing is loaded, and where one would come from is told before it is opened. */

import { h, icon } from "./dom.js";

/** Put a box in each place of an image; it opens to the whole address and a link. */
export function dressImages(element) {
  for (const place of element.querySelectorAll(".remote-image")) place.replaceWith(imageBox(place));
}

function imageBox(place) {
  const { src = "", title } = place.dataset;
  const name = place.textContent || title || "Image";
  const url = address(src);
  const open = url && h("a", { href: url.href, target: "_blank", rel: "noopener noreferrer nofollow" }, "Open in a new tab");
  return h(
    "details",
    { class: "remote-image" },
    h("summary", {}, icon("image"), h("span", {}, name), h("span", { class: "image-host" }, url?.host ?? "not shown")),
    h("p", { class: "image-ask" }, h("span", { class: "image-address" }, src), open || null),
  );
}

/** An address of an image elsewhere; what is none is not opened. */
function address(src) {
  const url = URL.canParse(src) ? new URL(src) : null;
  return url && ["http:", "https:"].includes(url.protocol) ? url : null;
}
