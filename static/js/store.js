/** Holds the state, and tells everyone who asked when it has changed. */

import { initialState, reduce } from "./state.js";

export function createStore() {
  let state = initialState();
  const listeners = [];
  let isTelling = false;

  function dispatch(event) {
    const before = state;
    state = reduce(state, event);
    if (state !== before) tell();
  }

  /** Listeners may dispatch: they are told again until nothing changes any more. */
  function tell() {
    if (isTelling) return;
    isTelling = true;
    try {
      for (let told = null; told !== state; ) {
        told = state;
        for (const listener of listeners) listener(told);
      }
    } finally {
      isTelling = false;
    }
  }

  return { get: () => state, dispatch, listen: (listener) => listeners.push(listener) };
}
