// Elements are made here and nowhere else, so that texts never become markup.

export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "class") made.className = value;
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return made;
}

// Cuts a text at stretches given in code points, as the server counts them, and gives each piece with its stretches.
export function pieces(text, ...lists) {
  const points = /[\ud800-\udfff]/.test(text) ? Array.from(text) : null;
  const length = points ? points.length : text.length;
  const cut = (from, to) => (points ? points.slice(from, to).join("") : text.slice(from, to));
  const borders = new Set([0, length]);
  for (const list of lists) for (const [from, to] of list) borders.add(Math.min(from, length)).add(Math.min(to, length));
  const sorted = [...borders].sort((a, b) => a - b);
  const at = lists.map(() => 0);
  const found = [];
  for (let i = 0; i + 1 < sorted.length; i++) {
    const from = sorted[i];
    const covering = lists.map((list, number) => {
      while (at[number] < list.length && list[at[number]][1] <= from) at[number]++;
      const one = list[at[number]];
      return one && one[0] <= from ? one : null;
    });
    found.push([cut(from, sorted[i + 1]), ...covering]);
  }
  return found;
}

// Gives a text as nodes, with what matched marked.
export function marked(text, marks) {
  return pieces(text, marks).map(([piece, mark]) => (mark ? element("mark", {}, piece) : piece));
}

let lastId = 0;
export const newId = (prefix) => `${prefix}-${++lastId}`;
