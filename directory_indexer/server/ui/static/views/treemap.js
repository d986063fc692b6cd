// Directories as areas: how large each is, and in colours and words one thing about it. A tile leads to a search there.

import { go, read, written } from "../address.js";
import { element, place } from "../dom.js";
import { groupOf } from "../kinds.js";
import { plain, since, sizeOf, words } from "../words.js";
import { namesOf } from "./facets.js";
import { squarified } from "./squarify.js";

const HEAD = 26, GAP = 3, LEAST = 4, ROOM_FOR_NAME = [44, 22], ROOM_FOR_COUNTS = [70, 44], ROOM_FOR_VALUE = [70, 62], ROOM_FOR_PART = 130, ROOM_FOR_WORD = 70;
const STEPS_OF_AGE = [7, 31, 183, 731]; // days

// What can be told of a directory: a step of 0 to 4 on a scale of colours, and words that say the same. What is as it
// should be is pale.
export const MEASURES = {
  kind: {
    scale: "group",
    step: ({ kinds }) => largestGroup(kinds),
    said: ({ kinds }) => Object.keys(kinds).slice(0, 3).join(", "),
  },
  meaning: {
    scale: "lack",
    step: ({ chunks, embedded }) => (chunks ? Math.ceil(4 * (1 - embedded / chunks)) : 0),
    said: ({ chunks, embedded }) => words.map.meaning(chunks ? embedded / chunks : 1),
  },
  freshness: {
    scale: "heat",
    step: ({ changed_at: at }) => (at ? 4 - STEPS_OF_AGE.filter((days) => ageInDays(at) > days).length : 0),
    said: ({ changed_at: at }) => (at ? words.map.changed(since(at)) : ""),
  },
  missing: {
    scale: "lack",
    step: ({ files, failed, skipped }) => Math.ceil((4 * Math.min(failed + skipped, files)) / Math.max(files, 1)),
    said: ({ failed, skipped }) => words.map.missing(failed, skipped),
  },
};

// The group of kinds that most of the files are of.
function largestGroup(kinds) {
  const counts = new Map();
  for (const [kind, n] of Object.entries(kinds)) counts.set(groupOf(kind), (counts.get(groupOf(kind)) ?? 0) + n);
  return [...counts].sort(([, one], [, other]) => other - one)[0]?.[0] ?? "code";
}

const ageInDays = (at) => (Date.now() - Date.parse(at)) / 86_400_000;

export class Treemap {
  #tree = null;
  #measure = "kind";
  #drawn = "";
  part = element("ul", { class: "treemap", "aria-label": words.map.label });

  constructor() {
    new ResizeObserver(() => this.#draw()).observe(this.part);
    this.part.addEventListener("keydown", (event) => this.#move(event));
    this.part.addEventListener("focusin", (event) => this.#rove(event.target));
  }

  show(tree, measure) {
    [this.#tree, this.#measure, this.#drawn] = [tree, measure, ""];
    this.#draw();
  }

  #draw() {
    const { clientWidth: width, clientHeight: height } = this.part;
    const key = `${width} ${height}`;
    if (!this.#tree || !width || key === this.#drawn) return;
    this.#drawn = key;
    const had = this.part.contains(document.activeElement) ? document.activeElement.href : "";
    const top = onlyOne(this.#tree);
    this.part.replaceChildren(...this.#laid(top, { x: 0, y: 0, width, height }, (one, area) => this.#region(one, area)));
    for (const tile of [...this.part.querySelectorAll(".tile")].filter(isCut)) tile.replaceChildren();
    const links = [...this.part.querySelectorAll("a")];
    links.forEach((link, i) => (link.tabIndex = i ? -1 : 0));
    if (had) links.find((link) => link.href === had)?.focus();
  }

  // Lays out what lies in a directory, and beside it what is right there.
  #laid(around, area, make) {
    const inner = around.directories.filter((one) => one.bytes);
    const rest = remainder(around);
    const all = [...inner, ...(rest.bytes > 0 ? [rest] : [])].sort((one, other) => other.bytes - one.bytes);
    const areas = squarified(all.map((one) => one.bytes), area);
    const names = namesOf(inner.map((one) => one.path));
    return all.map((one, i) => make({ ...one, label: one.isRest ? one.name : names.get(one.path) }, areas[i])).filter(Boolean);
  }

  #region(one, area) {
    if (one.isRest || !one.directories.length) return this.#tile(one, area);
    const { width, height } = inside(area);
    const isSplit = one.directories.length > 1 || remainder(one).bytes > 0;
    if (!isSplit) return this.#tile(one, area);
    if (width < 130 || height < 84) return this.#tile(one, area);
    const name = element("a", { class: "region", href: written({ ...read(), filters: { path: [one.path] } }), title: one.path, "aria-label": words.map.closer(one.name) }, one.label || words.map.all);
    name.addEventListener("click", (event) => follow(event, { ...read(), filters: { path: [one.path] } }));
    const inner = this.#laid(one, { x: 0, y: HEAD, width, height: height - HEAD }, (child, at) => this.#region(child, at));
    const made = element("li", { class: "around" }, name, element("ul", { "aria-label": one.name }, ...inner));
    return place(made, inside(area));
  }

  #tile(one, area) {
    const at = inside(area);
    if (at.width < LEAST || at.height < LEAST) return null;
    const measure = MEASURES[this.#measure];
    const said = measure.said(one);
    const state = { view: "search", filters: { path: [one.path] } };
    const fits = ([width, height]) => at.width >= width && at.height >= height;
    const link = element(
      "a",
      { class: `tile ${measure.scale}-${measure.step(one)}`, href: written(state), title: `${one.path}\n${about(one, said)}`, "aria-label": `${one.name}: ${about(one, said)}` },
      fits(ROOM_FOR_NAME) && element("span", { class: "name" }, one.label),
      fits(ROOM_FOR_COUNTS) && element("span", { class: "said" }, `${words.index.files({ files: one.files })} · ${sizeOf(one.bytes)}`),
      fits(ROOM_FOR_VALUE) && element("span", { class: "said" }, said),
    );
    link.addEventListener("click", (event) => follow(event, state));
    return place(element("li", {}, link), at);
  }

  // One stop for Tab; arrows lead from tile to tile.
  #rove(target) {
    for (const link of this.part.querySelectorAll("a")) link.tabIndex = link === target ? 0 : -1;
  }

  #move(event) {
    const way = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!way || !event.target.matches("a")) return;
    event.preventDefault();
    const from = middle(event.target);
    let best = null, least = Infinity;
    for (const link of this.part.querySelectorAll("a")) {
      const to = middle(link);
      const [dx, dy] = [to.x - from.x, to.y - from.y];
      const ahead = dx * way[0] + dy * way[1];
      const aside = Math.abs(dx * way[1]) + Math.abs(dy * way[0]);
      if (link !== event.target && ahead > 1 && ahead + 2 * aside < least) [best, least] = [link, ahead + 2 * aside];
    }
    best?.focus();
  }
}

// Whether a small tile shows only a part of its name, in two lines; a part of it, or of a word, says enough where there
// is more room.
function isCut(tile) {
  const [name] = tile.children, { clientWidth, clientHeight } = tile;
  if (!name) return false;
  if (clientWidth < ROOM_FOR_WORD && name.scrollWidth > name.clientWidth) return true;
  return clientWidth < ROOM_FOR_PART && (name.scrollHeight > name.clientHeight || name.offsetTop + name.offsetHeight > clientHeight);
}

function follow(event, state) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  go(state);
}

function middle(link) {
  const { left, top, width, height } = link.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}

// Where all lies in one tracked directory, that is what there is to look at.
const onlyOne = (tree) => (!tree.path && tree.directories.length === 1 ? tree.directories[0] : tree);

const inside = ({ x, y, width, height }) => ({ x, y, width: Math.max(width - GAP, 0), height: Math.max(height - GAP, 0) });

const about = (one, said) => [words.index.files({ files: one.files }), sizeOf(one.bytes), said].filter(Boolean).join(", ");

// What lies right in a directory, or in those of it that are too small to be listed.
function remainder(around) {
  const sum = (name) => around[name] - around.directories.reduce((all, one) => all + one[name], 0);
  const counts = Object.fromEntries(["files", "bytes", "chunks", "embedded", "failed", "skipped"].map((name) => [name, sum(name)]));
  const name = around.more ? words.map.others(plain(around.more)) : words.map.here;
  return { ...counts, path: around.path, name, kinds: around.kinds, changed_at: around.changed_at, directories: [], isRest: true };
}
