/** The access token: taken from the address or from a form, kept in this browser. */

// Talarias under several paths of one address share its storage.
const TOKEN_KEY = `talaria.token${location.pathname === "/" ? "" : location.pathname}`;

const LOGIN_KEY = `${TOKEN_KEY}.login`;

export const NOT_TAKEN = "This token is not accepted, or no longer. Paste the address that Talaria printed when it was started.";

/** Take what the address carries and clean it; true once a token is there. */
export async function logIn(store, server) {
  const given = new URLSearchParams(location.hash.slice(1));
  const [token, code] = [given.get("token"), given.get("code")];
  if (token || code) history.replaceState(null, "", location.pathname + location.search);
  if (token) return enter(store, token);
  if (code) {
    try {
      return enter(store, (await server.login({ code })).token);
    } catch (failure) {
      if (!readToken()) return refuse(store, failure.message);
    }
  }
  const kept = readToken();
  return kept ? enter(store, kept) : refuse(store, "");
}

/** Log in with what a person typed: the password where one is set, else the token or its address. */
export async function enterTyped(store, server, typed) {
  const token = typed.trim().replace(/^.*#token=/s, "");
  try {
    const { password } = await server.authStatus();
    if (password && token === typed.trim()) {
      const login = await server.login({ password: typed });
      localStorage.setItem(LOGIN_KEY, "yes");
      return enter(store, login.token);
    }
  } catch (failure) {
    // What is no password may be the token.
    if (failure.status !== 401 || !isToken(token)) return refuse(store, failure.message);
  }
  return isToken(token) ? enter(store, token) : refuse(store, "This is no token: it has no blanks and no special letters.");
}

/** Keep a token and use it. */
export function enter(store, token) {
  localStorage.setItem(TOKEN_KEY, token);
  store.dispatch({ type: "auth/given", token });
  return true;
}

/** Forget a token that the server did not take. */
export function refuse(store, problem) {
  localStorage.removeItem(TOKEN_KEY);
  store.dispatch({ type: "auth/needed", problem });
  return false;
}

/** Whether this browser came in by a password, so that there is something to end. */
export function hasLogin() {
  return localStorage.getItem(LOGIN_KEY) !== null;
}

/** End the login on the server, and forget here what was read and typed. */
export async function logOut(server) {
  await server.logout().catch(() => {});
  for (const name of Object.keys(localStorage)) if (name.startsWith("talaria.")) localStorage.removeItem(name);
  location.replace(location.pathname);
}

/** Take over the token that another tab was given. */
export function watchOtherTabs(store, onEntered) {
  addEventListener("storage", (event) => {
    if (event.key !== TOKEN_KEY || !event.newValue || !store.get().auth.isNeeded) return;
    store.dispatch({ type: "auth/given", token: event.newValue });
    onEntered();
  });
}

/** Whether a header can carry it. */
function isToken(text) {
  return /^[!-~]+$/.test(text);
}

function readToken() {
  return localStorage.getItem(TOKEN_KEY);
}
