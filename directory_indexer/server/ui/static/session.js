// How this page is known to its server: a code from the address, good once, is exchanged for a cookie that no script
// can read and a token that is kept for this origin alone; both are shown with every request.

const KEPT = "dirindex.token";

export async function begin() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  const answer = await fetch("session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ code }),
  });
  if (answer.ok) localStorage.setItem(KEPT, (await answer.json()).token);
}

export const headers = () => ({ "X-Dirindex-Page": localStorage.getItem(KEPT) ?? "" });
