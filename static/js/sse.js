/** Cuts a stream of text into server-sent events, as the HTML standard says. */

/**
 * A parser with `feed(text)`; `onEvent` gets `{type, data, id}` at each blank line.
 * Lines end with CR, LF or CRLF and with nothing else. An event that the stream leaves open is dropped.
 */
export function createParser(onEvent) {
  let rest = "";
  let skipsLineFeed = false;
  let type = "";
  let data = [];
  let id = "";

  function feed(text) {
    let at = 0;
    if (skipsLineFeed && text !== "") {
      at = text[0] === "\n" ? 1 : 0;
      skipsLineFeed = false;
    }
    for (let end = lineEnd(text, at); end !== -1; end = lineEnd(text, at)) {
      takeLine(rest + text.slice(at, end));
      rest = "";
      at = end + 1;
      if (text[end] !== "\r") continue;
      if (at === text.length) skipsLineFeed = true;
      else if (text[at] === "\n") at += 1;
    }
    rest += text.slice(at);
  }

  function takeLine(line) {
    if (line === "") {
      dispatch();
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + (line[colon + 1] === " " ? 2 : 1));
    if (name === "event") type = value;
    else if (name === "data") data.push(value);
    else if (name === "id" && !value.includes("\0")) id = value;
  }

  function dispatch() {
    if (data.length > 0) onEvent({ type: type || "message", data: data.join("\n"), id });
    type = "";
    data = [];
  }

  return { feed };
}

function lineEnd(text, from) {
  const lf = text.indexOf("\n", from);
  const cr = text.indexOf("\r", from);
  if (lf === -1 || cr === -1) return Math.max(lf, cr);
  return Math.min(lf, cr);
}
