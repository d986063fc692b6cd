// The index at a glance: how it spreads over directories, what goes on, what is not in it, and which directories there are.

import { get } from "../api.js";
import { go, read } from "../address.js";
import { onMoment } from "../changes.js";
import { choices, element } from "../dom.js";
import { words } from "../words.js";
import { LeftOut } from "./leftout.js";
import { Runs } from "./runs.js";
import { Stand } from "./stand.js";
import { Tracked } from "./tracked.js";
import { MEASURES, Treemap } from "./treemap.js";

const OFTEN_MS = 2_000, SELDOM_MS = 20_000;

const map = new Treemap();
const stand = new Stand({ onChange: refresh });
const leftOut = new LeftOut();
const runs = new Runs({ onChange: refresh });
const tracked = new Tracked({ onChange: refresh });
const trail = element("nav", { class: "trail", "aria-label": words.map.trail });
const trouble = element("p", { class: "problem", role: "alert" });

let measure = "kind", tree = null, path = "", timer = 0, isShown = false;

const chooser = choices(words.map.measure, Object.fromEntries(Object.keys(MEASURES).map((name) => [name, words.map.measures[name]])), measure, (name) => {
  measure = name;
  legend.replaceChildren(...legendOf(name));
  if (tree) map.show(tree, measure);
});
const legend = element("p", { class: "legend" }, ...legendOf(measure));

const mapPart = element(
  "section",
  { class: "map", "aria-labelledby": "map-title" },
  element("div", { class: "title" }, element("h2", { id: "map-title" }, words.map.title), chooser),
  trail,
  map.part,
  legend,
);
const columns = [[mapPart, leftOut.part], [tracked.part, runs.part]].map((parts) => element("div", { class: "column" }, ...parts));
const page = element("div", { class: "page" }, trouble, stand.part, ...columns);

export const glance = {
  parts: () => [page],
  show(state) {
    isShown = true;
    path = state.filters.path[0] ?? "";
    refresh();
    leftOut.show(path, state.reason);
  },
  hide() {
    isShown = false;
    clearTimeout(timer);
  },
};

async function refresh() {
  clearTimeout(timer);
  if (document.hidden) return; // it goes on when somebody looks
  const about = path;
  try {
    const [status, operations, found] = await Promise.all([get("status"), get("operations"), spreadOver(about)]);
    if (!isShown || about !== path) return;
    trouble.textContent = "";
    const list = operations.operations;
    stand.show(status, list);
    runs.show(list);
    tracked.show(status.directories);
    leftOut.part.hidden = !status.directories.length;
    leftOut.reloadIfChanged(status);
    offerMeaning(status.embedded < status.chunks);
    if (JSON.stringify(found) !== JSON.stringify(tree)) {
      tree = found;
      map.show(tree, measure);
      mapPart.hidden = !tree.path && !tree.directories.length;
    }
    showTrail(status.directories, about);
    timer = setTimeout(refresh, list.some((one) => one.state === "running") ? OFTEN_MS : SELDOM_MS);
  } catch (problem) {
    if (!isShown) return;
    if (problem.status === 404 && about) return go({ ...read(), filters: {} }); // it was forgotten
    trouble.textContent = problem.message;
    timer = setTimeout(refresh, SELDOM_MS);
  }
}

document.addEventListener("visibilitychange", () => isShown && refresh());

// The numbers here change with those of the other views.
let known = "";
onMoment((now) => {
  if (!now || now.moment === known) return;
  known = now.moment;
  if (isShown) refresh();
});

let asked = { at: 0, path: null, answer: null };

// What takes longest is asked for less often than how far a run is.
async function spreadOver(about) {
  if (asked.path !== about || Date.now() - asked.at > SELDOM_MS / 2) {
    asked = { at: Date.now(), path: about, answer: await get("directories", { path: about, depth: 3 }) };
  }
  return asked.answer;
}

function showTrail(directories, about) {
  const root = directories.find((one) => about === one.path || about.startsWith(`${one.path}/`) || about.startsWith(`${one.path}\\`));
  const steps = [["", words.map.all]];
  if (root) {
    steps.push([root.path, root.path]);
    let at = root.path;
    for (const name of about.slice(root.path.length).split(/[\\/]/).filter(Boolean)) {
      at += about[root.path.length] + name;
      steps.push([at, name]);
    }
  }
  const links = steps.map(([to, name], i) => element("li", {}, i === steps.length - 1
    ? element("span", { "aria-current": "page" }, name)
    : element("button", { type: "button", class: "quiet", onclick: () => go({ ...read(), filters: to ? { path: [to] } : {} }) }, name)));
  trail.replaceChildren(element("ol", {}, ...links));
}

// How much is found by meaning is worth a look while that is not all.
function offerMeaning(isWorthIt) {
  const option = chooser.querySelector("[value=meaning]");
  option.parentElement.hidden = !isWorthIt;
  if (!isWorthIt && option.checked) chooser.querySelector("[value=kind]").click();
}

function legendOf(name) {
  const how = element("span", { class: "how" }, words.map.area, " ", words.map.how);
  if (name === "kind") {
    const groups = Object.entries(words.map.groups).map(([group, label]) => element("span", { class: "of-group" }, element("span", { class: `swatch group-${group}`, "aria-hidden": "true" }), " ", label));
    return [...groups, how];
  }
  const [few, many] = words.map.ends[name];
  const steps = [0, 1, 2, 3, 4].map((step) => element("span", { class: `swatch ${MEASURES[name].scale}-${step}`, "aria-hidden": "true" }));
  return [few, " ", element("span", { class: "swatches" }, ...steps), " ", many, how];
}
