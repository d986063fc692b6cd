// A look at one hit in its document.

import { get } from "../api.js";
import { element } from "../dom.js";
import { words } from "../words.js";

const BEFORE = 40, AFTER = 120;

export class Preview {
  #shown = "";
  #body = element("div", { class: "document", tabindex: "0", role: "group", "aria-label": words.preview.label });

  constructor({ onBack }) {
    this.#head = element("div", { class: "head" });
    this.#back = element("button", { type: "button", class: "back", onclick: onBack }, words.preview.back);
    this.part = element("section", { class: "preview", "aria-label": words.preview.label }, this.#head, this.#body);
    this.#empty();
  }

  #head;
  #back;

  async show(place, query) {
    const key = JSON.stringify([place, query]);
    if (key === this.#shown) return;
    this.#shown = key;
    if (!place.doc) return this.#empty();
    const line = Number(place.line) || 1;
    try {
      const found = await get(`documents/${place.doc}`, { lines: `${Math.max(1, line - BEFORE)}-${line + AFTER}` });
      if (this.#shown === key) this.#text(found, line);
    } catch (problem) {
      if (this.#shown === key) this.#body.replaceChildren(element("p", { class: "problem" }, problem.message));
    }
  }

  step() {}

  #empty() {
    this.#head.replaceChildren();
    this.#body.replaceChildren(element("p", { class: "empty" }, words.preview.empty));
  }

  #text(found, wanted) {
    this.#head.replaceChildren(this.#back, element("h2", {}, found.filename ?? found.path), element("p", { class: "path" }, found.path));
    const lines = found.text.replace(/\n$/, "").split("\n").map((text, i) => {
      const n = found.start_line + i;
      return element("div", { class: n === wanted ? "row wanted" : "row" }, element("span", { class: "n" }, String(n)), element("code", {}, text || " "));
    });
    this.#body.replaceChildren(element("div", { class: "text" }, ...lines));
    this.#body.querySelector(".wanted")?.scrollIntoView({ block: "center" });
  }
}
