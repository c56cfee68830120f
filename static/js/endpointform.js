/** The form that connects an OpenAI-compatible server, or changes one that is connected. */

import { fieldsOf } from "./connecting.js";
import { h, label } from "./dom.js";
import { whyNoDefault } from "./models.js";

export function createEndpointForm(connecting) {
  const [details, form, title, outcome, key, keyHint, isDefault, found] = [
    "endpoint-details", "endpoint-form", "endpoint-title", "endpoint-outcome",
    "endpoint-key", "endpoint-key-hint", "endpoint-default", "endpoint-models",
  ].map((id) => document.getElementById(id));
  let editing;
  let wasOpened = false;

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (await connecting.save(fields(), isDefault.checked)) fill(null);
  });
  document.getElementById("endpoint-test").addEventListener("click", async () => {
    if (!form.reportValidity()) return;
    say("", "Asking…");
    const { ok, sentence, models } = await connecting.test(fields());
    say(ok ? "good" : "bad", sentence);
    found.replaceChildren(...models.map((id) => h("option", { value: id })));
  });
  document.getElementById("endpoint-cancel").addEventListener("click", () => {
    connecting.edit(null);
    fill(null);
  });

  function fields() {
    return fieldsOf(Object.fromEntries(new FormData(form)), editing);
  }

  function fill(endpoint) {
    editing = endpoint;
    form.reset();
    for (const name of ["name", "base_url", "model"]) form.elements[name].value = endpoint?.[name] ?? "";
    label(title, endpoint ? `Change ${endpoint.name}` : "Connect a model server");
    label(keyHint, endpoint?.has_key ? "A key is kept. Leave this empty to keep it; it stays only with this address." : "It stays on this machine and is not shown again.");
    key.placeholder = endpoint?.has_key ? "unchanged" : "";
    details.classList.toggle("is-editing", Boolean(endpoint));
    say("", "");
  }

  function say(kind, sentence) {
    outcome.dataset.kind = kind;
    label(outcome, sentence);
    // What is said makes the form longer.
    if (sentence) form.lastElementChild.scrollIntoView({ block: "nearest" });
  }

  /** `hasBetter` says that something other than the demonstration model answers by default. */
  return ({ connect, models }, hasBetter) => {
    if (!connect) {
      wasOpened = false;
      return;
    }
    isDefault.parentElement.hidden = whyNoDefault(models, "openai") !== "";
    if (connect.editing !== null && connect.editing !== editing) {
      fill(connect.editing);
      isDefault.checked = false;
      details.open = true;
      form.elements.name.focus();
    }
    if (!wasOpened) {
      wasOpened = true;
      fill(null);
      isDefault.checked = !hasBetter;
      details.open = false;
    }
  };
}
