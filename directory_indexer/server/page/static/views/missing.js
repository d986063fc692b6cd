// What no search can find, shown where nothing good was found: files that failed or were left out, first those with
// words of the query in their names.

import { get } from "../api.js";
import { go } from "../address.js";
import { element } from "../dom.js";
import { nameOf, plain, words } from "../words.js";
import { row } from "./leftout.js";

const LISTED = 500, SHOWN = 6, SHORTEST_WORD = 3;

export class Missing {
  #asked = "";
  #list = element("ul", { class: "left-out" });
  #more = element("div", { class: "more" });

  constructor() {
    const title = element("h2", { id: "missing-title" }, words.missing.title);
    this.part = element("section", { class: "missing", "aria-labelledby": "missing-title", hidden: true }, title, this.#list, this.#more);
  }

  hide() {
    this.#asked = "";
    this.part.hidden = true;
  }

  async show(query, path) {
    const key = JSON.stringify([query, path]);
    if (key === this.#asked) return;
    this.#asked = key;
    try {
      const found = await get("left_out", { path, limit: LISTED });
      if (this.#asked === key) this.#fill(found, query, path);
    } catch {
      if (this.#asked === key) this.hide(); // the view of the index says what is wrong
    }
  }

  #fill({ files, reasons }, query, path) {
    const total = Object.values(reasons).reduce((sum, n) => sum + n, 0);
    const typed = query.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((word) => word.length >= SHORTEST_WORD);
    const isLike = (file) => typed.some((word) => nameOf(file.path).toLowerCase().includes(word));
    const shown = [...files.filter(isLike), ...files.filter((file) => !isLike(file))].slice(0, SHOWN);
    this.#list.replaceChildren(...shown.map((file) => row(file, true)));
    const show = () => go({ view: "glance", filters: path ? { path: [path] } : {} });
    this.#more.replaceChildren(element("button", { type: "button", class: "quiet", onclick: show }, words.missing.all(plain(total))));
    this.part.hidden = !shown.length;
  }
}
