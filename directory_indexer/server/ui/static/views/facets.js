// How the files to search in spread over types, directories, years …; each value is a filter that can be toggled.

import { element, newId } from "../dom.js";
import { commitsOf, plain, withoutSigns, words } from "../words.js";

const NAMES = { types: "type", directories: "path", years: "year", languages: "language", authors: "author", tags: "tag" };
const MOST = 8, SPARED = 2; // values that are shown, and so few that hiding them would gain no room

export class Facets {
  #onToggle;
  #onClear;
  #open = new Set();
  #body = element("div", { class: "groups" });

  constructor({ onToggle, onClear }) {
    this.#onToggle = onToggle;
    this.#onClear = onClear;
    let isWanted = false;
    const summary = element("summary", { onclick: () => (isWanted = !this.#details.open) }, words.filters.show);
    const isWide = matchMedia("(min-width: 60rem)");
    this.#details = element("details", { open: isWide.matches }, summary, this.#body);
    isWide.addEventListener("change", () => (this.#details.open = isWide.matches || isWanted)); // open, they hide the hits in a narrow window
    this.part = element("aside", { class: "facets", "aria-label": words.filters.label }, this.#details);
  }

  #details;

  show(answer, filters) {
    const chosen = Object.values(filters).some((values) => values.length);
    const clear = chosen && element("button", { type: "button", class: "quiet", onclick: this.#onClear }, words.filters.clear);
    const { files = 0, commits = 0 } = answer;
    const n = element("p", { class: "n-files" }, words.filters.files(files - commits, commits), clear);
    const groups = Object.entries(NAMES).map(([facet, name]) => this.#group(name, answer.facets?.[facet] ?? {}, filters[name] ?? []));
    this.#body.replaceChildren(n, ...groups.filter(Boolean));
  }

  #group(name, counts, chosen) {
    const entries = Object.entries(counts);
    if (name === "year") entries.sort(([one], [other]) => other.localeCompare(one));
    for (const value of chosen) if (!(value in counts)) entries.unshift([value, null]);
    if (!entries.length || (entries.length === 1 && !chosen.length && name !== "path")) return null;
    const id = newId("facet");
    const labels = name === "path" ? namesOf(entries.map(([value]) => value)) : new Map();
    const item = ([value, n]) => this.#value({ name, value, n, label: labels.get(value) ?? value }, chosen);
    const isOpen = this.#open.has(name) || entries.length <= MOST + SPARED;
    const shown = entries.filter(([value], i) => isOpen || i < MOST || chosen.includes(value));
    const values = element("ul", { "aria-labelledby": id }, ...shown.map(item));
    const more = shown.length < entries.length && element("button", {
      type: "button", class: "quiet", onclick: () => { this.#open.add(name); values.append(...entries.filter((entry) => !shown.includes(entry)).map(item)); more.remove(); },
    }, words.filters.more(entries.length - shown.length));
    return element("section", {}, element("h2", { id }, words.filters.names[name]), values, more);
  }

  #value({ name, value, n, label }, chosen) {
    return element(
      "li",
      {},
      element(
        "button",
        { type: "button", title: name === "path" ? value : null, "aria-pressed": String(chosen.includes(value)), onclick: () => this.#onToggle(name, value) },
        element("span", { class: "value" }, label),
        n !== null && element("span", { class: "count" }, plain(n)),
      ),
    );
  }
}

// Names that tell directories apart: as much of the end of each path as no other has.
export function namesOf(paths) {
  const parts = paths.map((path) => path.split(/[\\/]/).filter(Boolean));
  const tail = (i, n) => parts[i].slice(-n).join("/");
  return new Map(paths.map((path, i) => {
    let n = 1;
    while (n < parts[i].length && parts.some((_, other) => other !== i && tail(other, n) === tail(i, n))) n++;
    return [path, commitsOf(path) ?? (withoutSigns(tail(i, n)) || path)];
  }));
}
