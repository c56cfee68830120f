/** What a person has chosen for this browser, applied before the page is first drawn. */

const KEY = "talaria.preferences";
const DEFAULTS = { theme: "system", enter: "send" };
const CHOICES = { theme: ["system", "light", "dark"], enter: ["send", "line"] };

/** The preferences; what nobody has chosen, or what makes no sense, is as it is by default. */
export function readPreferences() {
  let kept = {};
  try {
    kept = JSON.parse(localStorage.getItem(KEY)) ?? {};
  } catch {
    // Another version may have written it.
  }
  const known = (name) => (CHOICES[name].includes(kept[name]) ? kept[name] : DEFAULTS[name]);
  return { theme: known("theme"), enter: known("enter") };
}

/** Keep the preferences and show the theme among them. */
export function writePreferences(preferences) {
  localStorage.setItem(KEY, JSON.stringify(preferences));
  applyTheme(preferences.theme);
}

/** Hear of a choice made in another tab. */
export function watchPreferences(changed) {
  addEventListener("storage", ({ key }) => {
    if (key !== KEY) return;
    const preferences = readPreferences();
    applyTheme(preferences.theme);
    changed(preferences);
  });
}

/** The bar of a phone follows too: of the two colours in the page, the one of the theme counts alone. */
function applyTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  for (const meta of document.querySelectorAll("meta[name=theme-color]")) {
    meta.dataset.scheme ??= meta.media.includes("dark") ? "dark" : "light";
    meta.media = theme === "system" ? `(prefers-color-scheme: ${meta.dataset.scheme})` : meta.dataset.scheme === theme ? "all" : "not all";
  }
}

applyTheme(readPreferences().theme);
