// The part of an excerpt that stands in the list of hits: it begins with the line that the hit names, so that what
// matched is in view. Of a message its text is shown, not its headers; of prose without its marks of Markdown.

import { element, marked } from "../dom.js";
import { hasLines, iconOf, isCode, isDelimited, isMail, pageOf } from "../kinds.js";
import { nameOfHit, words } from "../words.js";

const MOST_LINES = 6, MOST_BEFORE = 70, KEPT_BEFORE = 40;
const BY_SENTENCE = /[.!?…]["”’)]?\s+(?=\S[^.!?…]*$)/u;
const HEADING = /^#{1,6}\s+/;
const LINK = /(!?\[)([^\]]*)\]\([^()\s]*\)/g;
const QUOTED = /(?<=\| *)"(?:[^"]|"")*"(?= *(?:\||\r?$))/g; // a cell of a CSV file
const ROW = /^\s*\|/;
const NO_TEXT = /^\s*(?:```|~~~|\|?(?:\s*:?-{2,}:?\s*\|)+)/; // what opens a block of code, and the line below the head of a table

export function excerptOf(hit) {
  const lines = isDelimited(hit.kind) ? rowsOf(linesOf(hit)) : linesOf(hit);
  const first = firstLine(hit, lines);
  const heading = headingAt(hit, lines, first);
  const begin = heading && heading.line === lines[first] && nextLine(lines, first) ? first + 1 : first;
  const shown = lines.slice(begin).filter(({ text }) => text.trim() && !(hit.kind === "markdown" && NO_TEXT.test(text))).slice(0, MOST_LINES);
  const part = isCode(hit.kind) ? code(shown) : prose(shown, hit.kind);
  const isSaid = heading && part.textContent.trim() === hit.heading; // as of a picture, whose only text is its title
  return { heading: isSaid ? null : heading?.nodes ?? null, part };
}

// The name of a hit; of a commit or a message its title, with what matched in it.
export function titleOf(hit) {
  const name = nameOfHit(hit);
  const line = linesOf(hit).slice(0, 12).find(({ text }) => text.endsWith(name));
  return line ? marked(name, moved(line, lengthOf(line.text) - lengthOf(name)).marks) : [name];
}

// Where a passage is, for an address.
export const placeOf = ({ doc_id: doc, line, page }) => ({ doc, line: String(line), page: page ? String(page) : "" });

// Where a passage is, for people; of a picture, which is all one page, nothing is said.
export function whereabouts({ page, pages, line, row, cell, kind }) {
  if (row) return words.hits.row(row, cell);
  if (pages) return words.hits.pages(pages[0], pages.at(-1), pageOf(kind));
  if (page) return page === 1 && iconOf(kind) === "picture" ? "" : words.hits.page(page, pageOf(kind));
  return hasLines(kind) ? words.hits.line(line) : "";
}

// Lines with the stretches of each that matched, counted in code points as the server does.
function linesOf({ excerpt, marks }) {
  let at = 0;
  return excerpt.split("\n").map((text) => {
    const [start, length] = [at, lengthOf(text)];
    at += length + 1;
    const own = marks.filter(([from, to]) => from < start + length && to > start);
    return { text, marks: own.map(([from, to]) => [Math.max(from - start, 0), Math.min(to - start, length)]) };
  });
}

const lengthOf = (text) => (/[\ud800-\udfff]/.test(text) ? Array.from(text).length : text.length);
const nextLine = (lines, at) => lines.slice(at + 1).some(({ text }) => text.trim());

function firstLine(hit, lines) {
  const body = hit.excerpt_start_line === 1 ? beginOfBody(hit, lines) : 0;
  const named = Math.min(Math.max(hit.line - hit.excerpt_start_line, 0), lines.length - 1);
  if (named >= body && lines[named].text.trim()) return named;
  const rest = lines.slice(body);
  const best = rest.reduce((most, line) => (line.marks.length > most.marks.length ? line : most), rest.find(({ text }) => text.trim()) ?? lines[0]);
  return lines.indexOf(best);
}

// What stands above as its title is not said again, and the headers of a message are before the first empty line.
function beginOfBody(hit, lines) {
  if (hit.kind === "commit") return lines.length > 1 ? 1 : 0;
  if (!isMail(hit.kind)) return 0;
  const end = lines.findIndex(({ text }) => !text.trim());
  return /^[\w-]+:\s/.test(lines[0].text) && end > 0 && end + 1 < lines.length ? end + 1 : 0;
}

// The headings above a place. A passage may hold several sections: of those, the one that the place is in is named.
function headingAt(hit, lines, at) {
  if (!hit.heading) return null;
  const all = hit.heading.split(" > ");
  const above = all.length > 1 && all[0] === hit.title ? all.slice(1) : all;
  const parts = above.at(-1).split(", ");
  for (let i = at; i >= 0; i--) {
    const [sign] = HEADING.exec(lines[i].text) ?? [""];
    const title = lines[i].text.slice(sign.length).trim();
    if (!title || !(parts.includes(title) || above.at(-1) === title)) continue;
    const marks = lines[i].marks.map(([from, to]) => [from - sign.length, to - sign.length]).filter(([from]) => from >= 0);
    return { line: lines[i], nodes: [...above.slice(0, -1).flatMap((one) => [one, " › "]), ...marked(title, marks)] };
  }
  return { line: null, nodes: [above.join(" › ")] };
}

function code(lines) {
  const indents = lines.map(({ text }) => /^\s*/.exec(text)[0].length);
  const common = Math.min(...indents);
  const rows = lines.map((line, i) => moved(line, Math.min(common, indents[i])));
  if (rows.length) rows[0] = withMatchInView(rows[0]);
  return element("span", { class: "excerpt as-code" }, ...rows.flatMap(({ text, marks }, i) => [i ? "\n" : "", ...marked(text, marks)]));
}

function prose(lines, kind) {
  const isMarkdown = kind === "markdown";
  const isSlide = iconOf(kind) === "slides";
  const isTable = lines.length > 0 && ROW.test(lines[0].text);
  const between = (text) => (isTable ? "\n" : isSlide || /^\d/.test(text) ? " · " : " "); // points of a slide, lines of a log
  const rows = lines.filter(({ text }) => ROW.test(text) === isTable).map((line) => (isMarkdown || isTable ? withoutSigns(withoutAddresses(line)) : moved(line, /^\s*/.exec(line.text)[0].length)));
  if (isTable) for (const row of rows) row.text = row.text.replace(/(?:\s*\|)+\s*$/, "");
  if (rows.length) rows[0] = withMatchInView(rows[0]);
  const cells = (text) => (isTable ? text.replace(/(?:\s*\|)+\s*/g, " · ") : text);
  const plain = (node) => (typeof node === "string" ? cells(isMarkdown ? node.replace(/\*\*|`/g, "") : node) : node);
  return element("span", { class: isTable ? "excerpt as-rows" : "excerpt" }, ...rows.flatMap(({ text, marks }, i) => [i ? between(text) : "", ...marked(text, marks).map(plain)]));
}

// The rows of a CSV file as those of a sheet, with bars around cells that have lost their quotes.
function rowsOf(lines) {
  const bare = lines.map(({ text }) => text.replace(/"[^"]*"/g, "")).filter((text) => text.trim());
  const nRows = (sign) => bare.filter((text) => text.includes(sign)).length;
  const sign = [";", "\t", "|", ","].reduce((best, one) => (nRows(one) > nRows(best) ? one : best)); // cells contain commas
  if (nRows(sign) <= bare.length / 2) return lines;
  const cell = new RegExp(`((?<=(?:^|[${sign}]) *)"(?:[^"]|"")*"(?= *(?:[${sign}]|\\r?$)))|[${sign}]`, "g");
  return lines.map(({ text, marks }) => {
    const barred = `|${text.replace(cell, (_, quoted) => quoted ?? "|")}`;
    const row = { text: barred, marks: marks.map(([from, to]) => [from + 1, to + 1]) };
    return [...barred.matchAll(QUOTED)].reverse().reduce(withoutQuotes, row);
  });
}

function withoutQuotes(row, { 0: quoted, index, input }) {
  const doubled = [...quoted.slice(1, -1).matchAll(/""/g)].map((two) => two.index + 1);
  const places = [0, ...doubled, quoted.length - 1].map((at) => lengthOf(input.slice(0, index + at)));
  return places.reduceRight((line, at) => without(line, at, at + 1), row);
}

const moved = (line, n) => (n ? without(line, 0, n) : line);

// Leaves out some characters of a line.
function without({ text, marks }, from, to) {
  const points = Array.from(text);
  const at = (n) => (n <= from ? n : Math.max(n - (to - from), from));
  const kept = marks.map(([start, end]) => [at(start), at(end)]).filter(([start, end]) => end > start);
  return { text: [...points.slice(0, from), ...points.slice(to)].join(""), marks: kept };
}

// A link is shown by its text, unless its address alone matched.
function withoutAddresses(line) {
  const isMarked = (from, to) => line.marks.some(([start, end]) => start < to && end > from);
  let shown = line;
  for (const { 0: link, 1: sign, 2: label, index } of [...line.text.matchAll(LINK)].reverse()) {
    const start = lengthOf(line.text.slice(0, index));
    const [from, to, end] = [start + sign.length, start + sign.length + lengthOf(label), start + lengthOf(link)];
    if (!isMarked(to, end) || isMarked(from, to)) shown = without(without(shown, to, end), start, from);
  }
  return shown;
}

// What makes a line a heading, a quotation or an item of a list, which becomes a point.
function withoutSigns(line) {
  const [sign] = /^\s*(?:#{1,6}\s+|>\s+|[-*+]\s+(?:\[[ x]\]\s+)?|(?:\|\s*)+)?/.exec(line.text);
  const rest = moved(line, sign.length);
  if (!/[-*+]/.test(sign)) return rest;
  return { text: `• ${rest.text}`, marks: rest.marks.map(([from, to]) => [from + 2, to + 2]) };
}

// A long line begins with the sentence that matched, or else shortly before what matched.
function withMatchInView(line) {
  const first = line.marks[0]?.[0] ?? 0;
  if (first <= MOST_BEFORE) return line;
  const points = Array.from(line.text);
  const before = points.slice(0, first).join("");
  const sentence = BY_SENTENCE.exec(before);
  const start = sentence ? lengthOf(before.slice(0, sentence.index + sentence[0].length)) : 0;
  if (start && first - start <= MOST_BEFORE) return moved(line, start);
  const space = points.findIndex((sign, i) => i >= first - KEPT_BEFORE && /\s/.test(sign));
  const rest = moved(line, space >= 0 && space < first ? space + 1 : first);
  return { text: `… ${rest.text}`, marks: rest.marks.map(([from, to]) => [from + 2, to + 2]) };
}
