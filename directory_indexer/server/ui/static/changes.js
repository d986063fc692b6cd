// What happens to the index: asked for in requests that wait for something to happen, as long as the page is in view.

import { get } from "./api.js";

const WAIT_S = 25, PAUSE_MS = 400, RETRY_MS = 5000;

const listeners = new Set();
let latest = null;

// How the index stood last, or null before that is known.
export const moment = () => latest;

// Calls a listener with each moment of the index, and with the problem where there is no answer.
export function onMoment(listener) {
  listeners.add(listener);
  if (latest) listener(latest, null);
}

// Whether there is anything to ask about: before that is known, there may be.
export const isEmpty = () => latest?.directories === 0;

// Follows the index for as long as the page is there; `known` is resolved once it is clear how the index stands.
let resolveKnown;
export const known = new Promise((resolve) => (resolveKnown = resolve));

export async function follow() {
  while (true) {
    if (document.hidden) await shown();
    let wait = PAUSE_MS, problem = null;
    try {
      latest = await get("changes", latest ? { moment: latest.moment, wait: WAIT_S } : {});
    } catch (error) {
      [problem, wait] = [error, RETRY_MS];
    }
    for (const listener of listeners) listener(latest, problem);
    resolveKnown();
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

const shown = () => new Promise((resolve) => document.addEventListener("visibilitychange", resolve, { once: true }));
