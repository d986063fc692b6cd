// The views of the page. Each has `parts()`, which gives its elements, and `show(state)`, called whenever the address
// changes while it is in view; `hide()`, where it has one, is called when another takes its place.

import { search } from "./search.js";

export const VIEWS = { search };
