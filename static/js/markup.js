/** The one place that makes elements of HTML: of what the server has rendered and cleaned, and nothing else. */

const asIs = { createHTML: (html) => html };
const policy = globalThis.trustedTypes?.createPolicy("talaria", asIs) ?? asIs;

export function setHtml(element, html) {
  element.innerHTML = policy.createHTML(html);
}

/** The text that a piece of HTML without elements stands for. */
export function unescaped(html) {
  if (!html.includes("&")) return html;
  const template = document.createElement("template");
  setHtml(template, html);
  return template.content.textContent;
}
