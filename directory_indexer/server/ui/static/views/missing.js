// What no search can find, shown where nothing good was found: files that failed, were skipped or are left out by rules;
// if there are any, those with words of the query in their names.

import { get } from "../api.js";
import { element } from "../dom.js";
import { plain, words } from "../words.js";
import { goToList, row, RULES } from "./leftout.js";

const SHOWN = 6;

export class Missing {
  #asked = "";
  #known = element("div");
  #byRules = element("div");

  constructor() {
    const title = element("h2", { id: "missing-title" }, words.missing.title);
    this.part = element("section", { class: "missing", "aria-labelledby": "missing-title", hidden: true }, title, this.#known, this.#byRules);
  }

  hide() {
    this.#asked = "";
    this.part.hidden = true;
  }

  // The list of rules takes longer, for it is made by a look through the directories.
  async show(query, { path, type }) {
    const key = JSON.stringify([query, path, type]);
    if (key === this.#asked) return;
    this.hide();
    this.#asked = key;
    const given = { query, path: path[0], types: type };
    for (const [name, part, fill] of [["near", this.#known, known], ["by_rules", this.#byRules, byRules]]) {
      part.replaceChildren();
      try {
        const found = await get(`left_out/${name}`, given);
        if (this.#asked !== key) return;
        if (found.paths) part.replaceChildren(...fill(found, path).filter(Boolean));
        this.part.hidden &&= !found.paths;
      } catch {
        if (this.#asked !== key) return; // the view of the index says what is wrong
      }
    }
  }
}

function known(found, path) {
  const rows = (found.named ? found.files : found.others).slice(0, SHOWN).map((file) => row(file, true));
  return [
    found.named && element("p", { class: "soft" }, words.missing.named(found.named)),
    element("ul", { class: "left-out" }, ...rows),
    link(words.missing.all(amount(found)), path, ""),
  ];
}

function byRules(found, path) {
  const causes = found.causes.map(({ cause, paths }) => element("li", {}, element("code", {}, cause), ` ${plain(paths)}`));
  return [
    element("h3", {}, words.missing.byRules(amount(found))),
    found.named && element("p", { class: "soft" }, words.missing.named(found.named)),
    found.named && element("ul", { class: "left-out" }, ...found.files.slice(0, SHOWN).map((file) => row(file, false))),
    element("ul", { class: "causes", "aria-label": words.missing.causes }, ...causes),
    link(words.missing.allByRules(amount(found)), path, RULES),
  ];
}

const amount = ({ paths, truncated }) => (truncated ? words.missing.atLeast(plain(paths)) : plain(paths));

function link(label, path, reason) {
  return element("div", { class: "more" }, element("button", { type: "button", class: "quiet", onclick: () => goToList(path, reason) }, label));
}
