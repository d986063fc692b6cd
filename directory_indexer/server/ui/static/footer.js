// How the index stands, in a line, and the keys.

import { onMoment } from "./changes.js";
import { element, openNotice } from "./dom.js";
import { words } from "./words.js";

export function footer() {
  const stand = element("p", { class: "stand" });
  onMoment((found, problem) => stand.replaceChildren(...(problem ? [problem.message] : facts(found).map((fact) => element("span", {}, fact)))));
  const keys = element("button", { type: "button", class: "keys", "aria-keyshortcuts": "?", onclick: showKeys }, element("kbd", {}, "?"), ` ${words.keys.title}`);
  return element("footer", {}, stand, keys);
}

export function showKeys() {
  const rows = words.keys.all.flatMap(([keys, does]) => [element("dt", {}, ...keys.split(/( or | )/).map((part) => (part.trim() && part !== " or " ? element("kbd", {}, part) : part))), element("dd", {}, does)]);
  openNotice(words.keys.title, element("dl", { class: "facts key-list" }, ...rows), words.keys.close);
}

function facts(now) {
  const { directories, files, chunks, embedded, run } = now;
  if (!directories) return [words.index.empty];
  return [
    ...(files || !run ? [words.index.files(now), words.index.chunks(chunks)] : []), // a first run has counted nothing yet
    chunks ? words.index.meaning(embedded / chunks) : "",
    run ? `${words.runs.phases[run.phase] ?? run.phase} …` : "",
  ].filter(Boolean);
}
