// Text: line by line with numbers and the colours of code, or as prose with its headings and tables.

import { element, pieces, scrolled } from "../dom.js";
import { words } from "../words.js";

export function lines(found) {
  const rows = split(found).map((nodes, i) => {
    const n = found.start_line + i;
    return element("div", { class: "row", "data-line": n }, element("span", { class: "n", "aria-hidden": "true" }, String(n)), element("code", {}, ...(nodes.length ? nodes : [" "])));
  });
  return element("div", { class: "text" }, ...rows);
}

const ROW = /^\| .* \|$/;

// The headings and paragraphs of a document, and the rows of its tables as the program writes them into its text.
export function prose(found) {
  const blocks = [];
  const texts = found.text.split("\n"), headings = new Set(found.heading_lines);
  let paragraph = null, rows = null;
  split(found).forEach((nodes, i) => {
    const line = { "data-line": found.start_line + i };
    if (!ROW.test(texts[i])) rows = null;
    else if (!rows) blocks.push(element("div", { class: "sheet", ...scrolled(words.preview.table) }, element("table", {}, (rows = element("tbody")))));
    const isHeading = headings.has(found.start_line + i);
    if (rows || isHeading || !nodes.length) paragraph = null;
    if (rows) rows.append(element("tr", line, ...cells(nodes).map((cell) => element("td", {}, ...cell))));
    else if (isHeading) blocks.push(element("h3", line, ...nodes));
    else if (paragraph) paragraph.append(element("br"), element("span", line, ...nodes));
    else if (nodes.length) blocks.push((paragraph = element("p", {}, element("span", line, ...nodes))));
  });
  return element("div", { class: "prose" }, ...blocks);
}

// The cells of a row such as `| a | b |`.
function cells(nodes) {
  const found = [[]];
  for (const node of without(nodes, 2)) {
    const parts = typeof node === "string" ? node.split(/ \|(?: |$)/) : [node];
    parts.forEach((part, i) => {
      if (i) found.push([]);
      if (part) found.at(-1).push(part);
    });
  }
  return found.slice(0, -1);
}

// Leaves out the first characters of nodes, such as the name of a header, which stands beside them.
export function without(nodes, n) {
  const left = [];
  for (const node of nodes) {
    const text = typeof node === "string" ? node : node.textContent;
    if (n >= text.length) n -= text.length;
    else if (n > 0) {
      left.push(text.slice(n));
      n = 0;
    } else left.push(node);
  }
  return left;
}

// The lines of a text as nodes, with what matched marked and code coloured.
export function split({ text, marks, colours }) {
  const rows = [[]];
  const styles = colours.map(({ start, end, style }) => [start, end, style]);
  for (const [piece, mark, colour] of pieces(text.replace(/\n$/, ""), marks, styles)) {
    piece.split("\n").forEach((part, i) => {
      if (i) rows.push([]);
      if (part) rows.at(-1).push(node(part, mark, colour));
    });
  }
  return rows;
}

function node(text, mark, colour) {
  const inner = colour ? element("span", { class: `code-${colour[2]}` }, text) : text;
  return mark ? element("mark", {}, inner) : inner;
}
