/** Keeps reading an event stream: connects again with back-off until it is stopped. */

import { NetworkLost } from "./server.js";

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

/**
 * `connect({signal, onOpen, onEvent})` reads the stream once. `onLink` hears "live" and "lost",
 * `onRefused` what the server says no to for good; that ends it, as `stop()` does.
 */
export function follow({ connect, onEvent, onLink, onRefused }) {
  const stopping = new AbortController();
  const { signal } = stopping;
  run();
  return { stop: () => stopping.abort() };

  async function run() {
    for (let failures = 0; !signal.aborted; failures += 1) {
      const onOpen = () => {
        failures = -1;
        if (!signal.aborted) onLink("live");
      };
      const trouble = await connect({ signal, onOpen, onEvent: hear }).catch((error) => error);
      if (signal.aborted) return;
      if (trouble && !isPassing(trouble)) {
        onRefused(trouble);
        return;
      }
      onLink("lost");
      await pause(waitMs(Math.max(failures, 0), trouble?.retryAfterS), signal);
    }
  }

  function hear(event) {
    if (!signal.aborted) onEvent(event);
  }
}

function isPassing(trouble) {
  return trouble instanceof NetworkLost || trouble.status >= 500 || trouble.status === 429;
}

function waitMs(failures, retryAfterS = 0) {
  const backOff = Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS);
  return Math.max(backOff * (0.75 + Math.random() / 2), retryAfterS * 1000);
}

/** Wait; a stop or a network that came back ends it early. */
function pause(ms, signal) {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      removeEventListener("online", end);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    addEventListener("online", end);
    signal.addEventListener("abort", end);
  });
}
