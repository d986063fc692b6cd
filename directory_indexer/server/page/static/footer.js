// How the index stands, in a line; asked now and then, by which the server knows that somebody is still here.

import { get } from "./api.js";
import { element } from "./dom.js";
import { words } from "./words.js";

const EVERY_MS = 60_000;

export function footer() {
  const stand = element("p", { class: "stand" });
  const keys = element("p", { class: "keys" }, words.keys);
  const ask = async () => {
    if (document.hidden) return;
    try {
      const found = await get("collections/default");
      stand.replaceChildren(...facts(found).map((fact) => element("span", {}, fact)));
    } catch (problem) {
      stand.replaceChildren(problem.message);
    }
  };
  ask();
  setInterval(ask, EVERY_MS);
  document.addEventListener("visibilitychange", ask);
  return element("footer", {}, stand, keys);
}

function facts(found) {
  const { files, chunks, embedded } = found;
  return [
    words.index.files(files),
    words.index.chunks(chunks),
    chunks ? words.index.meaning(embedded / chunks) : "",
    found.running ? words.index.running : "",
  ].filter(Boolean);
}
