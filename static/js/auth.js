/** The access token: taken from the address or from a form, kept in this browser. */

const TOKEN_KEY = "talaria.token";

/** Take what the address carries and clean it; true once a token is there. */
export async function logIn(store, server) {
  const given = new URLSearchParams(location.hash.slice(1));
  const [token, code] = [given.get("token"), given.get("code")];
  if (token || code) history.replaceState(null, "", location.pathname + location.search);
  if (token) return enter(store, token);
  if (code) {
    try {
      return enter(store, (await server.login(code)).token);
    } catch (failure) {
      if (!readToken()) return refuse(store, failure.message);
    }
  }
  const kept = readToken();
  return kept ? enter(store, kept) : refuse(store, "");
}

/** Keep a token and use it; it may be pasted with the address around it. */
export function enter(store, pasted) {
  const token = pasted.trim().replace(/^.*#token=/, "");
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

/** Take over the token that another tab was given. */
export function watchOtherTabs(store, onEntered) {
  addEventListener("storage", (event) => {
    if (event.key !== TOKEN_KEY || !event.newValue || !store.get().auth.isNeeded) return;
    store.dispatch({ type: "auth/given", token: event.newValue });
    onEntered();
  });
}

function readToken() {
  return localStorage.getItem(TOKEN_KEY);
}
