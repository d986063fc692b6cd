// The views of the page. Each has `parts()`, which gives its elements, and `show(state)`, called whenever the address
// changes while it is in view; `hide()`, where it has one, is called when another takes its place. One that
// `keepsDocument` is about the document that was looked at before.

import { glance } from "./glance.js";
import { neighbours } from "./neighbours.js";
import { search } from "./search.js";
import { settings } from "./settings.js";

export const VIEWS = { search, glance, neighbours, settings };
