// Rectangles of given areas that fill one, each as square as it can be (Bruls, Huizing, van Wijk: Squarified Treemaps).

export function squarified(sizes, { x, y, width, height }) {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  const found = [];
  let [left, top, wide, high, rest, at] = [x, y, width, height, total, 0];
  while (at < sizes.length) {
    const isWide = wide >= high;
    const side = isWide ? high : wide;
    const scale = (wide * high) / rest;
    let sum = 0, end = at, worst = Infinity;
    while (end < sizes.length) {
      const next = sum + sizes[end];
      const ratio = worstRatio(sizes.slice(at, end + 1), next, scale, side);
      if (ratio > worst) break;
      [sum, worst, end] = [next, ratio, end + 1];
    }
    const thick = (sum * scale) / side;
    let along = isWide ? top : left;
    for (; at < end; at++) {
      const long = (sizes[at] / sum) * side;
      found.push(isWide ? { x: left, y: along, width: thick, height: long } : { x: along, y: top, width: long, height: thick });
      along += long;
    }
    if (isWide) [left, wide] = [left + thick, wide - thick];
    else [top, high] = [top + thick, high - thick];
    rest -= sum;
  }
  return found;
}

function worstRatio(sizes, sum, scale, side) {
  const thick = (sum * scale) / side;
  return Math.max(...sizes.map((size) => Math.max((size * scale) / thick ** 2, thick ** 2 / (size * scale))));
}
