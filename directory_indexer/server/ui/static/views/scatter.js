// Points around a middle, each with the colour and the shape of its group. For eyes and pointers: the list beside it says
// the same, and is what keys and screen readers go through.

import { svg } from "../dom.js";
import { nameOf } from "../words.js";

const SIZE = 1000, ROOM = 430, RADIUS = 11, MIDDLE = 16, ASIDE = 18, LABELS = 9, ROUNDS = 40;
const SHAPES = [
  (r) => ["circle", { r }],
  (r) => ["rect", { x: -r * 0.9, y: -r * 0.9, width: r * 1.8, height: r * 1.8, rx: 2 }],
  (r) => ["path", { d: `M0 ${-r * 1.2}L${r * 1.1} ${r * 0.85}L${-r * 1.1} ${r * 0.85}Z` }],
  (r) => ["path", { d: `M0 ${-r * 1.25}L${r * 1.25} 0L0 ${r * 1.25}L${-r * 1.25} 0Z` }],
  (r) => ["path", { d: `M${-r} ${-r * 0.4}H${-r * 0.4}V${-r}H${r * 0.4}V${-r * 0.4}H${r}V${r * 0.4}H${r * 0.4}V${r}H${-r * 0.4}V${r * 0.4}H${-r}Z` }],
  (r) => ["path", { d: `M0 ${r * 1.2}L${r * 1.1} ${-r * 0.85}L${-r * 1.1} ${-r * 0.85}Z` }],
];

const shape = (group, r) => svg(...SHAPES[group % SHAPES.length](r));

// The mark of a group, as it stands beside a name.
export function glyph(group) {
  return svg("svg", { class: `glyph group-${group}`, viewBox: "-12 -12 24 24", "aria-hidden": "true" }, shape(group, 8));
}

export class Scatter {
  #onChoose;
  #onPoint;
  #nodes = [];
  part = svg("svg", { class: "scatter", viewBox: `${-SIZE / 2} ${-SIZE / 2} ${SIZE} ${SIZE}`, "aria-hidden": "true" });

  constructor({ onChoose, onPoint }) {
    this.#onChoose = onChoose;
    this.#onPoint = onPoint;
  }

  show(points, name) {
    const rings = [0.25, 0.5, 0.75, 1].map((share) => svg("circle", { class: "ring", r: share * ROOM }));
    const places = apart(points.map(({ x, y }) => ({ x: x * ROOM, y: y * ROOM })));
    this.#nodes = points.map((one, i) => this.#node(one, places[i], i));
    const middle = points.length ? [svg("circle", { class: "middle", r: MIDDLE }), ...labels(points, places, name)] : [];
    this.part.replaceChildren(...(points.length ? rings : []), ...this.#nodes, ...middle);
  }

  point(i) {
    this.#nodes.forEach((node, at) => node.classList.toggle("pointed", at === i));
    if (i >= 0) this.#nodes[i].parentNode.append(this.#nodes[i]);
  }

  #node(one, { x, y }, i) {
    const said = svg("title", {}, `${one.filename}${one.heading ? `, ${one.heading}` : ""}`);
    const node = svg("g", { class: `point group-${one.group}`, transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }, said, shape(one.group, RADIUS));
    node.addEventListener("click", () => this.#onChoose(one));
    node.addEventListener("mouseenter", () => {
      this.point(i);
      this.#onPoint(i);
    });
    node.addEventListener("mouseleave", () => this.#onPoint(-1));
    return node;
  }
}

// Moves points off each other, a little at a time.
function apart(places) {
  const least = RADIUS * 2.3;
  for (let round = 0; round < ROUNDS; round++) {
    for (let i = 0; i < places.length; i++) {
      for (let j = i + 1; j < places.length; j++) {
        const [a, b] = [places[i], places[j]];
        const [dx, dy] = [b.x - a.x, b.y - a.y];
        const far = Math.hypot(dx, dy);
        if (far >= least) continue;
        const angle = far > 0.01 ? Math.atan2(dy, dx) : i * 2.4;
        const push = (least - far) / 2;
        a.x -= push * Math.cos(angle); a.y -= push * Math.sin(angle);
        b.x += push * Math.cos(angle); b.y += push * Math.sin(angle);
      }
    }
  }
  return places;
}

// The names of the nearest files, each once, as far as they have room: a name covers neither a point nor another name.
function labels(points, places, name) {
  const taken = [...places.map(({ x, y }) => boxAround(x, y, RADIUS, RADIUS)), boxAround(0, 0, MIDDLE, MIDDLE)];
  const title = titleOf(name, taken);
  taken.push(title.box);
  const made = [title.label], named = new Set();
  for (let i = 0; i < points.length && made.length <= LABELS; i++) {
    const shown = cut(points[i].filename);
    const free = !named.has(shown) && sidesOf(places[i], widthOf(shown)).find(({ box }) => isFree(box, taken));
    if (!free) continue;
    named.add(shown);
    taken.push(free.box);
    made.push(text(free.x, places[i].y + 6, shown, "label", free.anchor));
  }
  return made;
}

// The name of what is in the middle stands above it or below it, where there are fewer points.
function titleOf(name, taken) {
  const shown = cut(name);
  const ways = [-34, 46].map((y) => ({ y, box: boxAround(0, y - 7, widthOf(shown) * 0.6, 14) }));
  const [{ y, box }] = ways.sort((one, other) => covered(one.box, taken) - covered(other.box, taken));
  return { box, label: text(0, y, shown, "label middle-label", "middle") };
}

// A name stands on the outer side of its point, or else on the inner one.
function sidesOf({ x, y }, wide) {
  const right = { x: x + ASIDE, anchor: "start", box: { left: x + ASIDE, right: x + ASIDE + wide, top: y - 13, bottom: y + 13 } };
  const left = { x: x - ASIDE, anchor: "end", box: { left: x - ASIDE - wide, right: x - ASIDE, top: y - 13, bottom: y + 13 } };
  return x < 0 ? [left, right] : [right, left];
}

const isFree = (box, taken) => box.left > -SIZE / 2 && box.right < SIZE / 2 && !covered(box, taken);
const covered = (box, taken) => taken.filter((one) => one.left < box.right && box.left < one.right && one.top < box.bottom && box.top < one.bottom).length;
const boxAround = (x, y, wide, high) => ({ left: x - wide, right: x + wide, top: y - high, bottom: y + high });
const widthOf = (shown) => shown.length * 10.5;
const text = (x, y, content, name, anchor) => svg("text", { x: x.toFixed(1), y: y.toFixed(1), class: name, "text-anchor": anchor }, content);
const cut = (name) => (nameOf(name).length > 28 ? `${nameOf(name).slice(0, 26)}…` : nameOf(name));
