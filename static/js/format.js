/** Values as people read them, and ids that nobody has used. */

const MINUTE_S = 60;
const HOUR_S = 3600;
const DAY_S = 86_400;
const WEEK_S = 7 * DAY_S;

/** How long ago a time was, both in Unix seconds: "now", "5 min", "3 h", "2 d", else the date. */
export function ago(timeS, nowS) {
  const gone = nowS - timeS;
  if (gone < MINUTE_S) return "now";
  if (gone < HOUR_S) return `${Math.floor(gone / MINUTE_S)} min`;
  if (gone < DAY_S) return `${Math.floor(gone / HOUR_S)} h`;
  if (gone < WEEK_S) return `${Math.floor(gone / DAY_S)} d`;
  return new Date(timeS * 1000).toLocaleDateString(undefined, { day: "numeric", month: "short", year: "numeric" });
}

/** The part of a list by days that a time is in: "Today" … "Previous 30 days", else its month. */
export function dayGroup(timeS, now = new Date()) {
  const time = new Date(timeS * 1000);
  const days = Math.round((startOf(now) - startOf(time)) / (DAY_S * 1000));
  if (days <= 0) return "Today";
  if (days === 1) return "Yesterday";
  if (days <= 7) return "Previous 7 days";
  if (days <= 30) return "Previous 30 days";
  return time.toLocaleDateString(undefined, { month: "long", year: "numeric" });
}

/** Midnight before a time, where this browser is. */
function startOf(time) {
  return new Date(time.getFullYear(), time.getMonth(), time.getDate());
}

/** The time of day, before it the day where that is another than today's. */
export function clock(timeS, now = new Date()) {
  const time = new Date(timeS * 1000);
  const day = startOf(time).getTime() === startOf(now).getTime() ? "" : `${time.toLocaleDateString(undefined, { day: "numeric", month: "short" })}, `;
  return `${day}${time.toLocaleTimeString(undefined, { hour: "numeric", minute: "2-digit" })}`;
}

export function fullTime(timeS) {
  return new Date(timeS * 1000).toLocaleString();
}

/** A number of bytes as people say it: "12 KB", "3.4 MB"; empty where it is not known. */
export function size(bytes) {
  if (typeof bytes !== "number") return "";
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${Math.round(bytes / 1000)} KB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** "1,200 tokens in, 50 out"; empty where nothing is known. */
export function tokens(usage) {
  const known = [
    typeof usage?.input_tokens === "number" ? `${usage.input_tokens.toLocaleString()} tokens in` : "",
    typeof usage?.output_tokens === "number" ? `${usage.output_tokens.toLocaleString()} out` : "",
  ];
  return known.filter(Boolean).join(", ");
}

/** A fresh id; made by hand because `randomUUID` is missing on plain http names. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `c-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
