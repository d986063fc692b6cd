// What may stand at the end of a query: names of filters, and the values that the index has for them.

import { post } from "../api.js";
import { isEmpty } from "../changes.js";
import { FILTERS } from "../filters.js";
import { plain } from "../words.js";

const FRESH_MS = 60_000;
const MOST = 8;

let known = null;

export async function suggestions(text, caret) {
  const before = text.slice(0, caret);
  if (/^\S/.test(text.slice(caret))) return null;
  const word = /(?:^|\s)-?([a-z]{2,})$/.exec(before);
  if (word) return names(word[1], caret);
  const filter = /(?:^|\s)-?([a-z]+):("[^"]*|[^\s"]*)$/.exec(before);
  return filter && FILTERS[filter[1]] ? values(filter[1], filter[2], caret) : null;
}

function names(prefix, caret) {
  const found = Object.keys(FILTERS).filter((name) => name.startsWith(prefix));
  return { start: caret - prefix.length, end: caret, isName: true, values: found.map((name) => ({ shown: `${name}:`, written: `${name}:` })) };
}

async function values(name, typed, caret) {
  const wanted = typed.replace(/^"/, "").toLowerCase();
  const facets = await facetsOf(name, wanted);
  const entries = Object.entries(facets[FILTERS[name]] ?? {}).filter(([value]) => value.toLowerCase().includes(wanted));
  const isExact = entries.length === 1 && entries[0][0].toLowerCase() === wanted;
  const shown = isExact ? [] : entries.slice(0, MOST);
  return {
    start: caret - typed.length,
    end: caret,
    isName: false,
    values: shown.map(([value, n]) => ({ shown: value, n: plain(n), written: /[\s"]/.test(value) ? `"${value.replaceAll('"', "")}"` : value })),
  };
}

// The most frequent values are asked for once a minute; rarer ones by what is typed of them.
async function facetsOf(name, wanted) {
  if (isEmpty()) return {};
  if (!known || performance.now() - known.at > FRESH_MS) known = { at: performance.now(), facets: counted({ query: " ", since: "1970" }) };
  const facets = await known.facets;
  const isRare = ["author", "tag"].includes(name) && wanted && !Object.keys(facets[FILTERS[name]] ?? {}).some((value) => value.toLowerCase().includes(wanted));
  return isRare ? counted({ query: `${name}:"${wanted}"` }) : facets;
}

async function counted(given) {
  try {
    return (await post("search", { ...given, facets: true })).facets ?? {};
  } catch {
    known = null;
    return {};
  }
}
