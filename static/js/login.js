/** The form that asks for the access token or the password, and the way out. */

import { hasLogin } from "./auth.js";
import { label } from "./dom.js";

export function createLogin(act) {
  const login = document.getElementById("login");
  const app = document.getElementById("app");
  const input = document.getElementById("login-token");
  const out = document.getElementById("log-out");
  const problem = document.getElementById("login-problem");

  document.getElementById("login-form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim()) act.enter(input.value);
    input.value = "";
  });
  out.addEventListener("click", act.logOut);

  return ({ auth }) => {
    const wasHidden = login.hidden;
    login.hidden = !auth.isNeeded;
    app.hidden = auth.isNeeded || auth.token === null;
    out.hidden = !hasLogin();
    label(problem, auth.isNeeded ? auth.problem : "");
    if (wasHidden && !login.hidden) input.focus();
  };
}
