// The kinds of files that are no source code: how each is drawn, and that its text is read as prose. All other kinds are
// shown as code, line by line.

import { element, svg } from "./dom.js";

const PATHS = {
  page: "M4 1.5h5.5L13 5v9.5H4zM9.5 1.5V5H13M6.5 8.5h4M6.5 11h4",
  note: "M2.5 3.5h11M2.5 8h11M2.5 12.5h6.5",
  book: "M8 4c-1.5-1.2-3.6-1.5-6-1.5V12.5c2.4 0 4.5.3 6 1.5 1.5-1.2 3.6-1.5 6-1.5V2.5C11.6 2.5 9.5 2.8 8 4zM8 4v10",
  mail: "M1.5 3.5h13v9h-13zM1.5 4.5l6.5 4.5 6.5-4.5",
  sheet: "M2 2.5h12v11H2zM2 6.2h12M2 9.9h12M6.5 2.5v11",
  slides: "M1.5 2.5h13V11h-13zM8 11v3M5 14h6",
  picture: "M2 2.5h12v11H2zM2 11.5l3.5-3.5 3 3 2-2 3.5 3M5 6h1",
  sound: "M6 12V3l7-1.5v9M6 12a2 2 0 1 1-4 0 2 2 0 0 1 4 0zM13 10.5a2 2 0 1 1-4 0 2 2 0 0 1 4 0z",
  archive: "M2 2.5h12v3H2zM3 5.5v8h10v-8M6.5 8.5h3",
  commit: "M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 1 0 0-5zM1 8h4.5M10.5 8H15",
  talk: "M2 2.5h12V11H7.5L4 14v-3H2z",
  date: "M2 3.5h12v10H2zM2 7h12M5 1.5v3M11 1.5v3",
  data: "M6 2.5c-2 0-2 1.2-2 2.5S3.5 8 2 8c1.5 0 2 1.7 2 3s0 2.5 2 2.5M10 2.5c2 0 2 1.2 2 2.5s.5 3 2 3c-1.5 0-2 1.7-2 3s0 2.5-2 2.5",
  code: "M5 4.5L1.5 8 5 11.5M11 4.5L14.5 8 11 11.5M9.3 3l-2.6 10",
  directory: "M1.5 3H6l1.5 2h7v8.5h-13z",
};

const PROSE = {
  page: "doc docx hwpx odt pages pdf rtf html mhtml latex typst man svg odg vsdx",
  note: "asciidoc markdown notebook org restructuredtext subtitles text textile wiki",
  book: "epub fictionbook mobi",
  mail: "email emlx mbox msg pst tnef p7m",
  sheet: "csv numbers ods tsv xls xlsb xlsx",
  slides: "keynote odp ppt pptx",
  picture: "bmp gif heic jpeg png pnm tiff webp",
  sound: "aiff flac m4a matroska mp3 mp4 ogg wav wma",
  archive: "7z bzip2 cab gzip rar tar xz zip zstandard",
  commit: "commit git",
  talk: "opencode transcript",
  date: "calendar contacts",
  directory: "directory",
};
const DATA = new Set("bibtex diff dotenv gettext gomod ini json jsonl log properties sqlite toml xml yaml".split(" "));

const ICONS = new Map(Object.entries(PROSE).flatMap(([icon, kinds]) => kinds.split(" ").map((kind) => [kind, icon])));

export const isCode = (kind) => !ICONS.has(kind);
// What people open as text, so that the number of a line means something to them.
const LINES = new Set("html latex typst man svg asciidoc markdown org restructuredtext subtitles text textile wiki fictionbook csv tsv calendar contacts".split(" "));
export const hasLines = (kind) => isCode(kind) || LINES.has(kind);
export const isDelimited = (kind) => kind === "csv" || kind === "tsv";
export const isMail = (kind) => ICONS.get(kind) === "mail";
export const iconOf = (kind) => ICONS.get(kind) ?? (DATA.has(kind) ? "data" : "code");
// What a document is turned over by.
export const pageOf = (kind) => (iconOf(kind) === "slides" ? "slide" : "page");

// What is alike in the eyes of people, and has a colour of its own on the map.
const GROUPS = {
  documents: "page note book slides",
  messages: "mail talk date",
  tables: "sheet data",
  media: "picture sound",
  code: "code commit archive directory",
};
const GROUP_OF = new Map(Object.entries(GROUPS).flatMap(([group, icons]) => icons.split(" ").map((one) => [one, group])));
export const groupOf = (kind) => GROUP_OF.get(iconOf(kind));

// The sign of a kind, which is also named for those who point at it.
export function icon(name, title = "") {
  const drawn = svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, svg("path", { d: PATHS[name] }));
  return element("span", { class: `icon icon-${name}`, title: title || null }, drawn);
}
