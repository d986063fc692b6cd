// Text: line by line with numbers and the colours of code, or as prose.

import { element, pieces } from "../dom.js";

export function lines(found) {
  const rows = split(found).map((nodes, i) => {
    const n = found.start_line + i;
    return element("div", { class: "row", "data-line": n }, element("span", { class: "n", "aria-hidden": "true" }, String(n)), element("code", {}, ...(nodes.length ? nodes : [" "])));
  });
  return element("div", { class: "text" }, ...rows);
}

export function prose(found) {
  const paragraphs = [];
  let paragraph = null;
  split(found).forEach((nodes, i) => {
    if (!nodes.length) paragraph = null;
    else if (paragraph) paragraph.append(element("br"), element("span", { "data-line": found.start_line + i }, ...nodes));
    else paragraphs.push((paragraph = element("p", {}, element("span", { "data-line": found.start_line + i }, ...nodes))));
  });
  return element("div", { class: "prose" }, ...paragraphs);
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
