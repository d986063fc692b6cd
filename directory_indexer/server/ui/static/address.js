// What is looked at stands in the address, so that it can be kept, sent, and gone back to.

export const FILTERS = ["type", "path", "year", "language", "author", "tag"];
const PLACE = ["doc", "line", "page", "heading"];

const NOTE_MS = 200; // Browsers limit how often the address may change within half a minute.
const LONGEST = 1500; // characters of a query: servers and browsers take no address of any length
let whole = ""; // the last query that was longer
let noted = null; // what is not in the address yet
let timer = 0;

export const read = () => noted ?? inAddress();

function inAddress() {
  const given = new URLSearchParams(location.search);
  const filters = Object.fromEntries(FILTERS.map((name) => [name, given.getAll(name)]));
  const place = Object.fromEntries(PLACE.map((name) => [name, given.get(name) ?? ""]));
  const q = given.get("q") ?? "";
  return { view: given.get("view") ?? "search", q: q.length === LONGEST && whole.startsWith(q) ? whole : q, sort: given.get("sort") ?? "", reason: given.get("reason") ?? "", filters, place };
}

export function written({ view = "search", q = "", sort = "", reason = "", filters = {}, place = {} }) {
  const query = new URLSearchParams();
  if (view !== "search") query.set("view", view);
  if (q.length > LONGEST) whole = q;
  if (q) query.set("q", q.slice(0, LONGEST));
  if (sort) query.set("sort", sort);
  if (reason) query.set("reason", reason);
  for (const [name, values] of Object.entries(filters)) for (const value of values) query.append(name, value);
  for (const name of PLACE) if (place[name]) query.set(name, place[name]);
  const text = query.toString();
  return text ? `?${text}` : location.pathname;
}

const listeners = new Set();
export const onChange = (listener) => listeners.add(listener);
const tell = () => listeners.forEach((listener) => listener(read()));
addEventListener("popstate", () => {
  forget();
  tell();
});
addEventListener("pagehide", write);

// A step that going back leads to.
export function go(state) {
  write();
  history.pushState(null, "", written(state));
  tell();
}

// What is typed is no step of its own.
export function note(state) {
  forget();
  noted = state;
  timer = setTimeout(write, NOTE_MS);
}

function write() {
  if (noted) history.replaceState(null, "", written(noted));
  forget();
}

function forget() {
  clearTimeout(timer);
  noted = null;
}
