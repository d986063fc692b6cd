// Every text that the page shows, in one place; what is shown of files is theirs.

const number = new Intl.NumberFormat("en");
export const count = (n, one, many) => `${number.format(n)} ${n === 1 ? one : many}`;
export const plain = (n) => number.format(n);

export const words = {
  name: "dirindex",
  views: { search: "Search" },
  viewsLabel: "Views",
  skip: "Skip to the hits",

  field: {
    label: "Search your files",
    placeholder: "A question, words, “a phrase”, -without, type:pdf",
    clear: "Clear",
    suggestions: "Suggestions",
  },
  keys: "Keys: / search · ↓ ↑ hits · Enter preview · n p matches · Esc back",

  hits: {
    label: "Hits",
    newest: "Changed last",
    typing: "Type to search.",
    some: (n, more) => (more ? `The best ${plain(n)} hits` : count(n, "hit", "hits")),
    mode: { keyword: "by words", semantic: "by meaning", hybrid: "by words and meaning" },
    byWordsFirst: "by words; by meaning when you pause",
    took: (ms) => `${plain(ms)} ms`,
    weak: "Nothing matches well. These are the nearest.",
    none: "Nothing was found.",
    noneAdvice: "Try fewer words, or leave out a filter.",
    corrected: (typed, searched) => `Searched for “${searched}”; no file has “${typed}”.`,
    moreInFile: (n) => count(n, "more match in this file", "more matches in this file"),
    line: (n) => `line ${plain(n)}`,
    page: (n) => `page ${plain(n)}`,
    pages: (first, last) => `pages ${plain(first)}–${plain(last)}`,
    score: (value) => `Score ${value} of 1`,
    changed: "changed since it was indexed",
    gone: "gone since it was indexed",
    more: "Show more",
    weaker: "Show weaker hits",
    notByMeaning: (n) => `${count(n, "passage is", "passages are")} found by words alone as yet: more may match soon.`,
  },
  sort: { label: "Order", relevance: "Relevance", date: "Date" },

  filters: {
    label: "Filters",
    show: "Filters",
    remove: (name, value) => `Remove the filter ${name} ${value}`,
    clear: "Clear filters",
    files: (n) => count(n, "file to search in", "files to search in"),
    more: (n) => `${plain(n)} more`,
    names: { type: "Type", path: "Directory", year: "Year", language: "Language", author: "Author", tag: "Tag" },
  },

  preview: {
    label: "Preview",
    empty: "Choose a hit to look at it here.",
    loading: "Loading …",
    back: "Back to the hits",
    next: "Next match",
    previous: "Previous match",
    match: (n, of) => `${plain(n)} of ${plain(of)}`,
    matchPage: (n, of) => `page ${plain(n)} of ${plain(of)} with matches`,
    noMatch: "No match in this part",
    copy: "Copy path",
    copied: "Copied",
    editor: "Open in editor",
    program: "Open",
    reveal: "Show in folder",
    similar: "Similar files",
    nothingSimilar: "No other file is like this one.",
    openedWith: (program) => `Opened with ${program}`,
    earlier: "Show what comes before",
    later: "Show what comes after",
    asText: "As text",
    asPages: "As pages",
    nPages: (n) => count(n, "page", "pages"),
    masked: (n) => `${n} masked`,
    members: "Holds ",
    container: "Lies in ",
    table: "Table",
    slide: (n) => `Slide ${plain(n)}`,
    pictureOf: (page, name) => `Page ${plain(page)} of ${name}`,
    allowTitle: "Open files on this computer?",
    allowWhat: "This page may then have files of the index opened with your programs, until dirindex ui ends.",
    allowYes: "Allow and open",
    allowNo: "Cancel",
  },

  index: {
    files: (n) => count(n, "file", "files"),
    chunks: (n) => count(n, "passage", "passages"),
    meaning: (share) => (share >= 1 ? "all found by meaning" : `${Math.floor(share * 100)} % found by meaning`),
    running: "Indexing goes on",
    upToDate: (when) => `Indexed ${when}`,
  },

  problems: {
    session: "This page belongs to a server that has ended, or was opened in another way.",
    sessionAdvice: "Run dirindex ui again; it opens a new one.",
    unreachable: "The server does not answer: dirindex ui has ended, or is about to. Run it again.",
    other: (detail, id) => (id ? `${detail} (request ${id})` : detail),
  },
};

const day = new Intl.DateTimeFormat("en", { year: "numeric", month: "short", day: "numeric" });
const moment = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
export const dateOf = (text) => day.format(new Date(text));
export const momentOf = (text) => moment.format(new Date(text));
