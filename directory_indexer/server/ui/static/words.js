// Every text that the page shows, in one place; what is shown of files is theirs.

const number = new Intl.NumberFormat("en");
export const count = (n, one, many) => `${number.format(n)} ${n === 1 ? one : many}`;
export const plain = (n) => number.format(n);

export const words = {
  name: "dirindex",
  views: { search: "Search", glance: "Index", neighbours: "Neighbours", settings: "Settings" },
  viewsLabel: "Views",
  commitsOf: (repository) => `commits of ${repository}`,
  skip: "Skip to the hits",

  field: {
    label: "Search your files",
    placeholder: "A question, words, “a phrase”, -without, type:pdf",
    shortPlaceholder: "A question or words",
    clear: "Clear",
    suggestions: "Suggestions",
  },
  keys: {
    title: "Keys",
    close: "Close",
    all: [
      ["/ or Ctrl+K", "Search field"],
      ["↓ ↑", "Next or previous hit"],
      ["Enter", "From the field to the first hit; from a hit into its document"],
      ["n p", "Next or previous match in the document"],
      ["Tab", "Complete a filter, such as type:pdf"],
      ["Esc", "Back: from the document to its hit, then to the field"],
      ["?", "These keys"],
    ],
  },

  hits: {
    label: "Hits",
    newest: "Changed last",
    typing: "Type to search.",
    some: (n, more) => (more ? `The best ${plain(n)} hits` : count(n, "hit", "hits")),
    mode: { keyword: "by words", semantic: "by meaning", hybrid: "by words and meaning" },
    byWordsFirst: "by words; by meaning when you pause",
    took: (ms) => `${plain(ms)} ms`,
    weak: "Nothing matches well. This comes nearest.",
    none: ["Nothing was found.", "Try fewer words, or leave out a filter."],
    noneYet: ["Nothing was found yet.", "Files are still being read: what matches in them comes by itself."],
    adviceRead: "Got it",
    alsoIn: (n) => `Also in ${count(n, "other file", "other files")}`,
    moreCopies: (n) => `and ${plain(n)} more`,
    byName: "By name",
    inTexts: "In texts",
    searchIn: (name) => `Search in ${name}`,
    noText: (reason = "no text", icon = "") => {
      if (icon === "picture" && ["binary", "no text"].includes(reason)) return "A picture without text or camera data: found by its name alone";
      return reason === "no text" ? "There is no text in it" : `Not read: ${(words.leftOut.names[reason] ?? reason).toLowerCase()}`;
    },
    moreNames: (n) => count(n, "more name matches", "more names match"),
    moreInFile: (n) => count(n, "more match in this file", "more matches in this file"),
    line: (n) => `line ${plain(n)}`,
    row: (n, cell) => (cell ? `row ${plain(n)}, ${cell}` : `row ${plain(n)}`),
    page: (n, name = "page") => `${name} ${plain(n)}`,
    pages: (first, last, name = "page") => `${name}s ${plain(first)}–${plain(last)}`,
    score: (value) => `Score ${value} of 1`,
    changed: "changed since it was indexed",
    gone: "gone since it was indexed",
    more: "Show more",
    weaker: "Show weaker hits",
  },
  missing: {
    title: "No search finds these",
    named: (n) => `${count(n, "name has", "names have")} words of your query:`,
    all: (n) => `All of what failed or was skipped (${n})`,
    byRules: (n) => `Left out by rules: ${n}`,
    causes: "The rules that leave out most",
    allByRules: (n) => `All of what rules leave out (${n})`,
    atLeast: (n) => `at least ${n}`,
  },
  sort: { label: "Order", relevance: "Relevance", date: "Date" },

  recall: {
    recent: "Recent searches",
    saved: "Saved searches",
    save: "Save search",
    isSaved: "Saved",
    forget: "Forget recent searches",
    remove: (search) => `Remove ${search}`,
  },

  filters: {
    label: "Filters",
    show: "Filters",
    within: "in",
    remove: (name, value) => `Remove the filter ${name} ${value}`,
    clear: "Clear filters",
    files: (n, commits) => [count(n, "file", "files"), commits && count(commits, "commit", "commits")].filter(Boolean).join(", "),
    more: (n) => `${plain(n)} more`,
    names: { type: "Type", path: "Directory", year: "Year", language: "Language", author: "Author", tag: "Tag" },
  },

  preview: {
    label: "Preview",
    empty: "The document of a hit is shown here.",
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
    neighbours: "Neighbours",
    openedWith: (program) => `Opened with ${program}`,
    earlier: "Show what comes before",
    later: "Show what comes after",
    asText: "As text",
    asPages: "As pages",
    nPages: (n, name) => count(n, name, `${name}s`),
    masked: (n) => `${n} masked`,
    members: "Holds ",
    container: "Lies in ",
    table: "Table",
    code: "Code",
    slide: (n) => `Slide ${plain(n)}`,
    pictureOf: (page, name) => `Page ${plain(page)} of ${name}`,
    allowTitle: "Open files on this computer?",
    allowWhat: "Until dirindex ui ends, this page can then open indexed files with your programs.",
    allowYes: "Allow and open",
  },

  index: {
    files: ({ files, skipped, failed }) => count(files, "file", "files") + words.index.missing(skipped, failed),
    missing: (skipped, failed) => [["skipped", skipped], ["failed", failed]].filter(([, n]) => n).map(([kind, n]) => ` + ${plain(n)} ${kind}`).join(""),
    chunks: (n) => count(n, "passage", "passages"),
    meaning: (share) => (share >= 1 ? "all found by words and by meaning" : `all found by words, ${Math.floor(share * 100)} % by meaning so far`),
    empty: "Nothing is indexed yet",
  },

  welcome: {
    title: "Which files do you want to search?",
    what: "Choose a directory. You see first what would be read and how long it takes. Your files are only read, never changed.",
    suggested: "Suggested directories",
    other: "Another directory …",
    first: (q) => `Nothing is indexed yet. Add a directory, and hits for “${q}” come by themselves.`,
    begun: (name) => `Reading ${name} …`,
    next: "Type what you are looking for. Hits come as soon as the first files are read.",
  },

  dialog: { cancel: "Cancel" },

  glance: {
    label: "Index status",
    files: "Files",
    size: "Total size",
    passages: "Passages",
    meaning: "Found by meaning",
    onDisk: "Index on disk",
    upToDate: "Everything is up to date.",
    empty: "Nothing is indexed yet. Add a directory to search it.",
    waiting: (n, isCovered, span) => {
      const state = isCovered ? "searchable by meaning only approximately so far" : "not searchable by meaning yet";
      return `${count(n, "passage is", "passages are")} ${state}${span ? `; ready in about ${span}` : ""}.`;
    },
  },

  map: {
    title: "Map",
    label: "Directories by size",
    trail: "Parent directories",
    measure: "Colour",
    measures: { kind: "Kind", freshness: "Age", missing: "Not in the index", meaning: "Found by meaning" },
    groups: { documents: "Documents", messages: "Messages", tables: "Tables and data", media: "Pictures and sound", code: "Code" },
    ends: { meaning: ["Everything is found by meaning", "nothing is"], freshness: ["Not changed for two years", "changed this week"], missing: ["Everything is in the index", "much is not"] },
    area: "The larger a tile, the larger the files.",
    how: "Choose a tile to search that directory, or the name above the tiles to zoom in.",
    all: "All directories",
    here: "files in this directory",
    others: (n) => `in this directory and ${n} more`,
    closer: (name) => `Zoom in on ${name}`,
    meaning: (share) => (share >= 1 ? "all found by meaning" : `${Math.floor(share * 100)} % found by meaning`),
    changed: (when) => `changed ${when}`,
    missing: (failed, skipped) => [failed && `${plain(failed)} failed`, skipped && `${plain(skipped)} skipped`].filter(Boolean).join(", ") || "nothing missing",
  },

  tracked: {
    title: "Directories",
    add: "Add a directory …",
    search: "Search in it",
    update: "Update",
    forget: "Forget …",
    indexed: (when) => `indexed ${when}`,
    never: "not fully indexed yet",
    away: "It cannot be read at the moment. What was indexed is kept.",
  },

  adding: {
    title: "Add a directory",
    label: "Directory",
    placeholder: "~/Documents",
    look: "Check",
    looking: "Checking …",
    confirm: "Index it",
    path: "Directory",
    files: "It will read",
    kinds: "Kinds",
    noEnding: "no extension",
    time: "Time",
    unknownTime: "depends on the embedding service; you can search by words much sooner",
    about: (seconds) => `${seconds < 45 ? "less than a minute" : `about ${spanOf(seconds)}`} until all is done; you can search by words much sooner`,
    room: "Space for the index",
    roomOf: (needed, free) => `up to ${needed}; ${free} are free`,
    redone: "Also redone, because the index was built with other settings",
    failed: "Failed",
    skipped: "Skipped",
    ignored: "Left out by rules",
    rules: "Rules",
    atLeast: "at least ",
    partly: "It is too large for a quick check: there is more than these numbers show.",
    added: (path) => `${path} is being read.`,
  },

  forgetting: {
    title: "Forget this directory?",
    confirm: "Forget it",
    goes: ({ files, chunks }) => `${count(files, "file", "files")} with ${count(chunks, "passage", "passages")} will be removed from the index.`,
    stays: "The files themselves are not touched. To find them again, you would have to index them again.",
    done: (path) => `${path} was forgotten.`,
  },

  runs: {
    title: "Runs",
    none: "No recent runs.",
    progress: "Progress",
    pause: "Pause",
    resume: "Resume",
    stop: "Stop",
    update: "Bring up to date",
    look: "Look for changes",
    isPaused: "Indexing is paused.",
    pausedAdvice: "Nothing is indexed automatically until you resume.",
    asked: { pause: "It will pause after the current step.", stop: "It will stop after the current step. The next run continues from there.", resume: "Indexing has resumed.", update: "Indexing has started." },
    kinds: { index: "Index", ingest: "Document", optimize: "Optimise", rebuild: "Rebuild", backup: "Backup", purge: "Purge" },
    states: { queued: "waiting", running: "running", completed: "done", interrupted: "stopped", "out of time": "out of time", failed: "failed", cancelled: "cancelled", paused: "paused" },
    phases: {
      starting: "Starting", waiting: "Waiting for another run", walking: "Looking for changes", reading: "Reading files",
      covering: "Preparing searches by meaning", recognising: "Reading scanned pages", embedding: "Improving searches by meaning",
      merging: "Saving", copying: "Saving", done: "Finishing",
    },
    soFar: {
      reading: "What has been read can be found already.",
      covering: "Words are found already.", recognising: "Everything else can be found already.",
      embedding: "You can search by words and by meaning now; this goes on in the background.",
    },
    of: {
      files: (done, total) => `${done} of ${total} files`,
      chunks: (done, total) => `${done} of ${total} passages`,
      pages: (done, total) => `${done} of ${total} pages`,
    },
  },

  leftOut: {
    title: "Not in the index",
    reasons: "Reasons",
    none: "Nothing.",
    truncated: "There may be more: the check ran out of time.",
    names: {
      "": "All", failed: "Failed", refused: "Refused", waiting: "Waiting for OCR", unreadable: "Unreadable pages", ignored: "By a rule",
      binary: "Binary", "broken link": "Broken link", empty: "Empty", encrypted: "Encrypted", "no text": "No text",
      "not a regular file": "Not a regular file", secret: "Secret", "symbolic link": "Symbolic link", "too large": "Too large",
    },
    explained: {
      failed: "These could not be read. What was indexed of them before is kept, and they are tried again when they change.",
      refused: "The embedding service rejects these passages. They are found by words alone.",
      waiting: "Scanned pages that OCR has not read yet.",
      unreadable: "Scanned pages that OCR could not read.",
      ignored: "A rule leaves these out: yours, git's or a built-in one. A line that begins with ! in a .dirindexignore file brings them back.",
      binary: "They hold no text, and their format is not supported.",
      "broken link": "Links that lead nowhere.",
      empty: "These files are empty.",
      encrypted: "They need a password to open.",
      "no text": "They were read, and there is no text in them.",
      "not a regular file": "Devices, sockets and the like are not read.",
      secret: "The whole file is a secret, such as a private key.",
      "symbolic link": "Links are followed only where indexing.follow_symlinks says so.",
      "too large": "They are larger than indexing.max_file_size allows.",
    },
  },

  neighbours: {
    title: "Neighbours",
    of: (name) => `Around ${name}`,
    choose: "Choose Neighbours in a preview, or start with a file that changed recently.",
    map: "Map",
    list: "The nearest passages",
    groups: "Groups",
    by: "Group by",
    ways: { directory: "Directory", topic: "Topic" },
    found: (n) => `${count(n, "passage", "passages")} around it, nearest first.`,
    none: "It has no neighbours yet: no other document is searchable by meaning.",
    how: "The nearer to the middle, the nearer in meaning. Passages on the same side are alike.",
    nearness: (value) => `Similarity ${value} of 1`,
    from: "Its neighbours",
    rest: "others",
    oneTopic: "one topic",
  },

  settings: {
    title: "Settings",
    filter: "Find a setting",
    changedOnly: "Only what differs from the defaults",
    none: "No setting matches.",
    nothing: "not set",
    how: (file) => `${file ? `They come from ${file}.` : "There is no configuration file: dirindex config init writes one."} A variable such as DIRINDEX_INDEXING__CHUNK_SIZE takes precedence. Restart dirindex ui after a change.`,
    sources: { option: "option", environment: "variable", file: "file", default: "default" },
    from: (source, origin) => `from the ${source}${origin ? ` ${origin}` : ""}`,
    else: (value) => `default: ${value}`,
    changeIt: "Change …",
    changeOf: (key) => `Change ${key}`,
    value: "Value; empty: the default",
    oneALine: "One in each line",
    save: "Save",
    saved: (key) => `${key} is saved in the configuration file. It counts from the next start of dirindex.`,
    change: {
      "indexing.embedding": {
        means: "How many texts are prepared for search by meaning. All of them can be searched by words.",
        values: { complete: "Prepare all texts: the best answers", "on-demand": "Prepare only what searches come upon: quicker to index", off: "Never: search by words alone" },
      },
      "indexing.ignore_patterns": { means: "Files and directories that match one of these patterns, written as in .gitignore, are not indexed. What matches now leaves the index with the next run; the files stay." },
      "monitoring.battery_percent": { means: "On a battery with less charge than this, in percent, work in the background pauses. 0: it never pauses." },
      "ocr.languages": { means: "The languages of your scanned pages, as Tesseract names them, such as eng or deu. If none is set, each page is read in the language that it turns out to be in." },
    },
    own: { config_file: "The configuration file.", data_dir: "Where the index is kept." },
    sections: { "": "Places", storage: "Storage", "storage.qdrant": "Qdrant", embedding: "Embedding", indexing: "Indexing", searching: "Searching", serving: "Serving", monitoring: "Watching", ocr: "Scanned pages", telemetry: "Telemetry" },
  },

  problems: {
    session: "This page belongs to a server that has ended, or was not opened by dirindex ui.",
    sessionAdvice: "Run dirindex ui again; it opens a new page.",
    unreachable: "The server does not answer: dirindex ui has ended, or is about to. Run it again.",
    other: (detail, id) => (id ? `${detail} (request ${id})` : detail),
  },
};

export const SEPARATOR = "\u00a0· "; // it does not begin a line

const day = new Intl.DateTimeFormat("en", { year: "numeric", month: "short", day: "numeric" });
const ago = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const UNITS = [["year", 31_557_600], ["month", 2_629_800], ["week", 604_800], ["day", 86_400], ["hour", 3600], ["minute", 60]];
const BYTES = ["B", "KiB", "MiB", "GiB", "TiB"];

// How long ago a moment was.
export function since(text) {
  const seconds = (Date.parse(text) - Date.now()) / 1000;
  const [unit, length] = UNITS.find(([, length]) => Math.abs(seconds) >= length) ?? ["", 1];
  return unit ? ago.format(Math.trunc(seconds / length), unit) : "just now";
}

export function spanOf(seconds) {
  const [unit, length] = UNITS.slice(3).find(([, length]) => seconds >= length) ?? ["second", 1];
  const n = Math.max(Math.round(seconds / length), 1);
  return count(n, unit, `${unit}s`);
}

export function sizeOf(bytes) {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), BYTES.length - 1);
  const value = bytes / 1024 ** power;
  return `${number.format(value < 10 && power ? Number(value.toFixed(1)) : Math.round(value))}\u00a0${BYTES[power]}`;
}

// The repository that a commit lies in: its path leads through the git directory.
export const commitsOf = (path) => {
  const [around, inside] = path.split(/[\\/]\.git!/);
  return inside === undefined ? null : words.commitsOf(nameOf(around));
};

// A text of the server as a sentence; what is typed as it stands, such as type:pfd or gRPC, is kept so.
export const sentence = (text) => text.replace(/^[a-z]+(?= )/, (word) => word[0].toUpperCase() + word.slice(1));

export const nameOf = (path) => path.split(/[\\/]/).filter(Boolean).pop() ?? path;
// What a hit is called: a commit and a message by their titles, for the names of their files say little.
export const nameOfHit = (hit) => (["commit", "email", "emlx", "msg"].includes(hit.kind) && hit.title) || (hit.filename ?? nameOf(hit.path));
// An archive is called as its file: the sign that ends its name in the paths of what it holds is not shown.
export const withoutSigns = (path) => path.replace(/!(?=[\\/]|$)/g, "");
export const directoryOf = (path) => withoutSigns(path.slice(0, Math.max(path.length - nameOf(path).length, 0)).replace(/(?<=.)[\\/]$/, ""));

const moment = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });
// A day alone is that day everywhere; JavaScript takes it for midnight in Greenwich.
export const dateOf = (text) => day.format(new Date(text.length === "2026-01-31".length ? `${text}T00:00` : text));
export const momentOf = (text) => moment.format(new Date(text));
