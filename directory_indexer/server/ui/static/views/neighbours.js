// What lies around a document in meaning: a small map of the nearest passages, and the same as a list.

import { get, post } from "../api.js";
import { go, written } from "../address.js";
import { choices, element, visible } from "../dom.js";
import { icon, iconOf } from "../kinds.js";
import { SEPARATOR, commitsOf, directoryOf, nameOfHit, plain, words } from "../words.js";
import { placeOf, whereabouts } from "./excerpt.js";
import { namesOf } from "./facets.js";
import { Scatter, glyph } from "./scatter.js";

const MOST_GROUPS = 6, OFFERED = 12;

const title = element("h2", {}, words.neighbours.title);
const about = element("p", { class: "soft" });
const told = element("p", { class: "told", role: "status" });
const list = element("ol", { class: "near", "aria-label": words.neighbours.list });
const legend = element("ul", { class: "groups-legend", "aria-label": words.neighbours.groups });
const scatter = new Scatter({ onChoose: open, onPoint: point });

let found = null, by = "directory", shownDoc = "";

const chooser = choices(words.neighbours.by, words.neighbours.ways, by, (way) => {
  by = way;
  if (found) draw();
});
const page = element(
  "div",
  { class: "page around-page" },
  element("div", { class: "title" }, element("div", {}, title, about), chooser),
  told,
  element("section", { class: "plot", "aria-label": words.neighbours.map }, scatter.part, legend, element("p", { class: "legend" }, words.neighbours.how)),
  element("section", { class: "near-part" }, list),
);

export const neighbours = {
  keepsDocument: true,
  parts: () => [page],
  async show({ place }) {
    if (place.doc === shownDoc && found) return;
    shownDoc = place.doc;
    found = null;
    page.classList.toggle("offering", !place.doc);
    if (!place.doc) return offer();
    title.textContent = words.neighbours.title;
    about.textContent = words.preview.loading;
    told.textContent = "";
    try {
      const answer = await get(`documents/${encodeURIComponent(place.doc)}/neighbours`);
      if (shownDoc !== place.doc) return;
      found = { ...answer, neighbours: answer.neighbours.map((one) => ({ ...one, filename: titleOf(one) })) };
      title.textContent = words.neighbours.of(visible(found.filename));
      about.textContent = visible(found.path);
      told.textContent = found.neighbours.length ? words.neighbours.found(found.neighbours.length) : words.neighbours.none;
      draw();
    } catch (problem) {
      clear();
      about.textContent = "";
      told.replaceChildren(element("span", { class: "problem" }, problem.message));
    }
  },
};

// A commit is called by its title, with which it begins.
const titleOf = ({ path, filename, excerpt }) => (commitsOf(path) && excerpt.trim().split("\n")[0]) || filename;

function clear() {
  scatter.show([], "");
  legend.replaceChildren();
  list.replaceChildren();
}

// Where no document is named, those that changed last are offered.
async function offer() {
  clear();
  title.textContent = words.neighbours.title;
  about.textContent = words.neighbours.choose;
  told.textContent = "";
  try {
    const answer = await post("search", { query: " ", since: "1970", mode: "keyword", limit: OFFERED });
    if (shownDoc) return;
    list.replaceChildren(...answer.hits.map((hit) => element("li", { class: "file" }, icon(iconOf(hit.kind), hit.kind), around(hit.doc_id, nameOfHit(hit)), element("span", { class: "directory" }, directoryOf(hit.path)))));
  } catch (problem) {
    told.replaceChildren(element("span", { class: "problem" }, problem.message));
  }
}

const around = (doc, label) => linkTo({ view: "neighbours", place: { doc } }, label);

function linkTo(state, label, more = {}) {
  const link = element("a", { href: written(state), ...more }, label);
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(state);
  });
  return link;
}

function open(one) {
  go({ view: "search", place: placeOf(one) });
}

function draw() {
  const names = groupsBy(by);
  const groupOf = (one) => Math.max(names.indexOf(by === "directory" ? one.directory : one.topic), 0) % MOST_GROUPS;
  const indexOf = (one) => {
    const at = names.indexOf(by === "directory" ? one.directory : one.topic);
    return at < 0 || at >= MOST_GROUPS - 1 ? Math.min(names.length, MOST_GROUPS) - 1 : groupOf(one);
  };
  const points = found.neighbours.map((one) => ({ ...one, group: indexOf(one) }));
  scatter.show(points, found.filename);
  const shown = names.slice(0, MOST_GROUPS);
  const labels = by === "directory" ? namesOf(shown) : new Map(shown.map((name) => [name, found.topics[name] || words.neighbours.oneTopic]));
  legend.replaceChildren(...shown.map((name, i) => element(
    "li",
    {},
    glyph(i),
    element("span", {}, i === MOST_GROUPS - 1 && names.length > MOST_GROUPS ? words.neighbours.rest : labels.get(name)),
    element("span", { class: "count" }, plain(points.filter((one) => one.group === i).length)),
  )));
  list.replaceChildren(...points.map(row));
}

// The names of all groups, the largest first.
function groupsBy(way) {
  const counts = new Map();
  for (const one of found.neighbours) {
    const name = way === "directory" ? one.directory : one.topic;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return [...counts.keys()].sort((one, other) => counts.get(other) - counts.get(one));
}

function row(one, i) {
  const link = linkTo({ view: "search", place: placeOf(one) }, one.filename, { class: "file-name", title: one.path });
  const made = element(
    "li",
    { "data-point": i },
    element("p", {}, glyph(one.group), link, element("span", { class: "soft", title: words.neighbours.nearness(one.nearness.toFixed(2)) }, one.nearness.toFixed(2))),
    element("p", { class: "soft" }, [one.heading?.replaceAll(" > ", " › "), whereabouts(one), commitsOf(one.path) ?? directoryOf(one.path)].filter(Boolean).join(SEPARATOR)),
    around(one.doc_id, words.neighbours.from),
  );
  made.addEventListener("mouseenter", () => scatter.point(i));
  made.addEventListener("focusin", () => scatter.point(i));
  made.addEventListener("mouseleave", () => scatter.point(-1));
  return made;
}

function point(i) {
  for (const one of list.querySelectorAll(".pointed")) one.classList.remove("pointed");
  const made = i >= 0 && list.children[i];
  if (!made) return;
  made.classList.add("pointed");
  if (list.contains(document.activeElement)) return; // who goes through it by keys keeps their place
  list.parentElement.scrollTo({ top: made.offsetTop - list.parentElement.clientHeight / 3 });
}
