// Pages as pictures, drawn as they come into view, with what matched marked on them.

import { get, marked } from "../api.js";
import { element } from "../dom.js";
import { iconOf } from "../kinds.js";
import { words } from "../words.js";

const KEPT = 30; // So many pictures stay; others are drawn again.

export class Pages {
  #found;
  #query;
  #sheets = [];
  #loads = new Map();
  #matching;
  #page = 1;
  #spot = -1;
  #observer;

  constructor(found, query, scrolled) {
    this.#found = found;
    this.#query = query;
    this.part = element("div", { class: "sheets" });
    this.#observer = new IntersectionObserver((seen) => {
      for (const { isIntersecting, target } of seen) if (isIntersecting) this.#load(Number(target.dataset.page));
    }, { root: scrolled, rootMargin: "50%" });
    this.#matching = [...new Set(found.matching_lines.map((line) => this.pageOf(line)))];
    this.#grow(Math.max(found.page_lines.length, 1));
  }

  stop() {
    this.#observer.disconnect();
    for (const { image } of this.#sheets) if (image?.src) URL.revokeObjectURL(image.src);
  }

  get page() {
    return this.#page;
  }

  pageOf(line) {
    return Math.max(this.#found.page_lines.findLastIndex((first) => first <= line) + 1, 1);
  }

  // Shows a page, and tells which of the matches is the one that is gone to.
  async goTo(page) {
    this.#page = Math.min(page, this.#sheets.length);
    this.#spot = -1;
    this.#sheets[this.#page - 1].figure.scrollIntoView({ block: "start" });
    await this.#load(this.#page);
    return this.#spots().length ? this.#select(0) : this.#stand();
  }

  async step(by) {
    const next = this.#spot + by;
    if (this.#spots()[next]) return this.#select(next);
    const pages = by > 0 ? this.#matching : [...this.#matching].reverse();
    const page = pages.find((one) => (one - this.#page) * by > 0) ?? pages[0];
    if (!page) return null;
    this.#mark(false);
    this.#page = page;
    await this.#load(page);
    if (!this.#spots().length) {
      this.#sheets[page - 1].figure.scrollIntoView({ block: "start" });
      return this.#stand();
    }
    return this.#select(by > 0 ? 0 : this.#spots().length - 1);
  }

  #spots() {
    return this.#sheets[this.#page - 1]?.spots ?? [];
  }

  #mark(is) {
    this.#spots()[this.#spot]?.classList.toggle("current", is);
  }

  #select(number) {
    this.#mark(false);
    this.#spot = number;
    this.#mark(true);
    this.#spots()[number].scrollIntoView({ block: "center" });
    return this.#stand();
  }

  // Among the matches where one page has all, else among the pages with matches.
  #stand() {
    if (this.#matching.length === 1) return [Math.max(this.#spot, 0) + 1, Math.max(this.#spots().length, 1)];
    return this.#matching.length ? [Math.max(this.#matching.indexOf(this.#page) + 1, 1), this.#matching.length, true] : null;
  }

  #grow(n) {
    const isPicture = iconOf(this.#found.kind) === "picture";
    for (let page = this.#sheets.length + 1; page <= n; page++) {
      const figure = element("figure", { class: isPicture ? "sheet-page photo" : "sheet-page", "data-page": page, "aria-label": words.hits.page(page) });
      this.#sheets.push({ figure, spots: [], image: null });
      this.part.append(figure);
      this.#observer.observe(figure);
    }
  }

  #load(page) {
    if (!this.#loads.has(page)) this.#loads.set(page, this.#draw(page));
    return this.#loads.get(page);
  }

  async #draw(page) {
    const sheet = this.#sheets[page - 1];
    sheet.figure.setAttribute("aria-busy", "true");
    try {
      const drawn = await get(`documents/${this.#found.doc_id}/page`, { page, query: marked(this.#query) });
      this.#put(sheet, page, drawn);
      this.#grow(Math.min(drawn.pages, 5000));
    } catch (problem) {
      sheet.figure.replaceChildren(element("p", { class: "problem empty" }, problem.message));
    }
    sheet.figure.removeAttribute("aria-busy");
    this.#forget();
  }

  #put(sheet, page, { picture, media_type, width, height, marked }) {
    const bytes = Uint8Array.from(atob(picture), (sign) => sign.charCodeAt(0));
    const image = element("img", { alt: words.preview.pictureOf(page, this.#found.filename), width, height, src: URL.createObjectURL(new Blob([bytes], { type: media_type })) });
    sheet.image = image;
    sheet.spots = marked.map(([left, top, right, bottom]) => {
      const spot = element("mark", { class: "spot" });
      Object.assign(spot.style, { left: `${left * 100}%`, top: `${top * 100}%`, width: `${(right - left) * 100}%`, height: `${(bottom - top) * 100}%` });
      return spot;
    });
    sheet.figure.style.aspectRatio = `${width} / ${height}`;
    sheet.figure.style.setProperty("--natural", `${width}px`);
    sheet.figure.replaceChildren(image, ...sheet.spots);
  }

  #forget() {
    const far = [...this.#loads.keys()].slice(0, -KEPT).filter((page) => Math.abs(page - this.#page) > 3);
    for (const page of far) {
      const sheet = this.#sheets[page - 1];
      if (sheet.image) URL.revokeObjectURL(sheet.image.src);
      this.#loads.delete(page);
      Object.assign(sheet, { image: null, spots: [] });
      sheet.figure.replaceChildren();
      this.#observer.unobserve(sheet.figure);
      this.#observer.observe(sheet.figure);
    }
  }
}
