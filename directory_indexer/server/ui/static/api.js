// The API as the page asks it; what goes wrong is an error with a sentence for people.

import { visible } from "./dom.js";
import { headers } from "./session.js";
import { words } from "./words.js";

export class Problem extends Error {
  constructor(message, status) {
    super(visible(message));
    this.status = status;
  }
}

async function asked(path, options) {
  let answer;
  try {
    answer = await fetch(path, { ...options, headers: { ...headers(), ...options.headers }, credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(words.problems.unreachable, 0);
  }
  if (answer.ok) return answer;
  const told = await answer.json().catch(() => ({}));
  if (answer.status === 401) throw new Problem(`${words.problems.session} ${words.problems.sessionAdvice}`, 401);
  throw new Problem(words.problems.other(told.detail ?? answer.statusText, answer.status >= 500 ? told.request_id : ""), answer.status);
}

const inQuery = (given) => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(given)) {
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined && one !== "") query.append(name, one);
  }
  const text = query.toString();
  return text ? `?${text}` : "";
};

// Of a long query, this much is marked in a document: an address takes no more.
export const marked = (query) => query.slice(-2000);

export async function get(path, given = {}, signal = undefined) {
  return (await asked(`/api/v1/${path}${inQuery(given)}`, { signal })).json();
}

export async function post(path, body, signal = undefined) {
  const options = { method: "POST", signal, body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  return (await asked(`/api/v1/${path}`, options)).json();
}

// Has a file opened by a program of this machine.
export async function openFile(body) {
  const options = { method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  return (await asked("open", options)).json();
}

export async function remove(path) {
  return (await asked(`/api/v1/${path}`, { method: "DELETE" })).json();
}
