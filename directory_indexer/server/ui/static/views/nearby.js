// The files that are most like the one that is looked at, below it. They are asked for after a pause, and not while
// somebody types: what nobody asked for must not make anybody wait.

import { get } from "../api.js";
import { element, visible } from "../dom.js";
import { icon, iconOf } from "../kinds.js";
import { commitsOf, directoryOf, nameOf, nameOfHit, words } from "../words.js";
import { placeOf } from "./excerpt.js";

const PAUSE_MS = 600, MOST = 4;

export class Nearby {
  #doc = "";
  #pause = 0;
  #request = null;
  #onGo;
  #list = element("ol", { class: "similar" });
  part = element("section", { class: "nearby", "aria-label": words.preview.similar, hidden: true }, element("h3", {}, words.preview.similar), this.#list);

  constructor(onGo) {
    this.#onGo = onGo;
  }

  show(doc = "") {
    if (doc === this.#doc) return;
    this.stop();
    this.part.hidden = true;
    this.#doc = doc;
    if (doc) this.#pause = setTimeout(() => this.#ask(doc), PAUSE_MS);
  }

  // Asks no more for now; what is shown stays.
  stop() {
    clearTimeout(this.#pause);
    this.#request?.abort();
    if (this.part.hidden) this.#doc = "";
  }

  async #ask(doc) {
    this.#request = new AbortController();
    const { hits, weak } = await get(`documents/${doc}/similar`, { limit: MOST }, this.#request.signal).catch(() => ({ hits: [] }));
    if (doc !== this.#doc) return;
    const near = weak ? [] : hits;
    this.#list.replaceChildren(...near.map((hit) => this.#row(hit)));
    this.part.hidden = !near.length;
  }

  #row(hit) {
    const go = () => this.#onGo(placeOf(hit));
    const around = commitsOf(hit.path) ?? nameOf(directoryOf(hit.path));
    const title = visible(`${hit.path}\n${words.neighbours.nearness(hit.score.toFixed(2))}`);
    return element("li", { title }, icon(iconOf(hit.kind), hit.kind), element("button", { type: "button", class: "related", onclick: go }, nameOfHit(hit)), element("span", { class: "directory" }, around));
  }
}
