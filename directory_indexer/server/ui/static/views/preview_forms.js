// Tables, slides and messages.

import { element, marked, scrolled } from "../dom.js";
import { words } from "../words.js";
import { split, without } from "./preview_text.js";

export function table(found) {
  const tables = [];
  let rows = null;
  for (const row of found.rows) {
    if (!row.cells.length) {
      tables.push(element("h3", { "data-line": row.line }, row.heading));
      rows = null;
      continue;
    }
    if (!rows) {
      rows = element("tbody");
      tables.push(element("div", { class: "sheet", ...scrolled(words.preview.table) }, element("table", {}, rows)));
    }
    rows.append(element("tr", { "data-line": row.line }, ...row.cells.map((cell) => element("td", { class: isNumber(cell.text) ? "number" : undefined }, ...marked(cell.text, cell.marks)))));
  }
  return element("div", { class: "tables" }, ...tables);
}

const isNumber = (text) => /^[-+(]?[$€£]?\d[\d.,' ]*[%)€]?$/.test(text.trim());

export function slides(found) {
  const cards = found.page_lines.map((first, i) => ({ number: i + 1, first, rows: [] }));
  split(found).forEach((nodes, i) => {
    const n = found.start_line + i;
    const card = cards.findLast((one) => one.first <= n) ?? cards[0];
    if (nodes.length) card?.rows.push(element("p", { "data-line": n }, ...nodes));
  });
  const shown = cards.filter(({ rows }) => rows.length);
  return element("ol", { class: "slides" }, ...shown.map(({ number, rows }) => element("li", { "aria-label": words.preview.slide(number) }, element("span", { class: "number" }, String(number)), ...rows)));
}

// The headers stand before the first empty line.
export function message(found) {
  const rows = split(found);
  const texts = found.text.split("\n");
  const end = found.start_line === 1 ? Math.max(texts.indexOf(""), 0) : -1;
  const headers = element("dl", { class: "headers" });
  for (let i = 0; i < end; i++) {
    const [, name, value] = /^([\w-]+): (.*)$/.exec(texts[i]) ?? [];
    if (name) headers.append(element("dt", {}, name), element("dd", { "data-line": i + 1 }, ...without(rows[i], name.length + 2, value)));
    else headers.append(element("dd", { "data-line": i + 1 }, ...rows[i]));
  }
  const body = rows.slice(end + 1).map((nodes, i) => element("div", { class: "mail-line", "data-line": found.start_line + end + 1 + i }, ...(nodes.length ? nodes : [" "])));
  return element("div", { class: "message" }, end > 0 ? headers : null, element("div", { class: "body" }, ...body));
}
