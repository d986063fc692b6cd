// Every setting: what it is, where that comes from, and what it does.

import { get, post } from "../api.js";
import { element, newId, openDialog } from "../dom.js";
import { sentence, sizeOf, words } from "../words.js";

const body = element("div", { class: "groups" });
const told = element("p", { class: "told", role: "status" });
const file = element("p", { class: "soft" });
const filter = element("input", { type: "search", "aria-label": words.settings.filter, placeholder: words.settings.filter, oninput: () => draw() });
const changed = element("input", { type: "checkbox", id: "changed-only", onchange: () => draw() });
const page = element(
  "div",
  { class: "page settings" },
  element("div", { class: "title" }, element("h2", {}, words.settings.title), filter, element("label", { class: "check" }, changed, words.settings.changedOnly)),
  file,
  told,
  body,
);

let found = null;

export const settings = {
  parts: () => [page],
  async show() {
    try {
      learn(found ?? (await get("settings")));
    } catch (problem) {
      told.replaceChildren(element("span", { class: "problem" }, problem.message));
    }
  },
};

function learn(answer, more = []) {
  found = answer;
  file.textContent = words.settings.how(found.file);
  told.replaceChildren(...more, ...found.warnings.map((warning) => element("span", { class: "warning" }, warning)));
  draw();
}

// Asks for another value of a setting that is safe to change; an empty one is its default.
function change({ key, value }) {
  const { means, values } = words.settings.change[key];
  const id = newId("setting");
  const isList = Array.isArray(value);
  const field = values
    ? element("select", { id }, ...Object.entries(values).map(([name, label]) => element("option", { value: name, selected: name === value }, label)))
    : isList ? element("textarea", { id, rows: 8, spellcheck: "false" }, value.join("\n")) : element("input", { id, type: "number", min: 0, max: 100, value: String(value) });
  const lines = () => field.value.split("\n").map((line) => line.trim()).filter(Boolean);
  openDialog(words.settings.changeOf(key), {
    body: [element("p", {}, means), element("label", { for: id }, isList ? words.settings.oneALine : words.settings.value), field],
    confirm: words.settings.save,
    onConfirm: async () => {
      learn(await post("settings", { key, value: isList ? JSON.stringify(lines()) : field.value.trim() }), [element("span", {}, words.settings.saved(key))]);
      return true;
    },
  });
  field.focus();
}

function draw() {
  const wanted = filter.value.trim().toLowerCase();
  const groups = new Map();
  for (const one of found?.settings ?? []) {
    if (changed.checked && one.source === "default") continue;
    if (wanted && ![one.key, one.words, shown(one.value)].some((text) => text.toLowerCase().includes(wanted))) continue;
    const section = one.key.includes(".") ? one.key.slice(0, one.key.lastIndexOf(".")) : "";
    groups.set(section, [...(groups.get(section) ?? []), one]);
  }
  const canChange = (all) => all.some(({ key }) => key in words.settings.change);
  const sections = [...groups].sort(([, one], [, other]) => canChange(other) - canChange(one)); // first what people change
  for (const [, all] of sections) all.sort((one, other) => canChange([other]) - canChange([one]));
  const parts = sections.map(([section, all]) => element("section", {}, element("h3", {}, words.settings.sections[section] ?? section), element("dl", { class: "settings-list" }, ...all.map(row))));
  body.replaceChildren(...(parts.length ? parts : [element("p", { class: "empty" }, words.settings.none)]));
}

function row(one) {
  const isChanged = one.source !== "default";
  const where = isChanged ? words.settings.from(words.settings.sources[one.source], one.origin) : words.settings.sources.default;
  const choice = words.settings.change[one.key];
  const about = choice?.means || (one.words && sentence(one.words.replace(/\bnull:/g, `${words.settings.nothing}:`))) || words.settings.own[one.key];
  return element(
    "div",
    { class: isChanged ? "changed" : "" },
    element("dt", {}, element("code", {}, one.key)),
    element(
      "dd",
      {},
      element("div", {}, valueOf(one.value), one.words?.endsWith("in bytes") && element("span", { class: "soft" }, sizeOf(one.value)), element("span", { class: "soft" }, where), isChanged && one.words && element("span", { class: "soft" }, words.settings.else(shown(one.default)))),
      about && element("p", { class: "soft" }, about),
      choice && element("button", { type: "button", class: "quiet", "aria-label": words.settings.changeOf(one.key), onclick: () => change(one) }, words.settings.changeIt),
    ),
  );
}

function valueOf(value) {
  if (!Array.isArray(value) || !value.length) return element("code", { class: "value" }, shown(value));
  return element("ul", { class: "value" }, ...value.map((item) => element("li", {}, element("code", {}, item))));
}

function shown(value) {
  if (value === null || value.length === 0) return words.settings.nothing;
  if (Array.isArray(value)) return value.join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
