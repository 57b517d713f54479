// Pages work without scripts. This file adds buttons that copy texts, and refreshes the parts of a page that are live.
// The key / moves the focus to the search.
"use strict";

document.addEventListener("keydown", (event) => {
  const target = event.target;
  const isTyping = target.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);
  const search = document.querySelector("#q");
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || isTyping || !search) return;
  event.preventDefault();
  search.focus();
  search.select();
});

for (const text of document.querySelectorAll("pre.copy")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    getSelection().selectAllChildren(text);
    // Without TLS, browsers offer no clipboard to other hosts' pages: the text is selected, ready for Ctrl+C.
    await navigator.clipboard?.writeText(text.textContent);
    button.textContent = navigator.clipboard ? "Copied" : "Selected: press Ctrl+C";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  text.before(button);
}

// Refreshes accept a page that the server made for another tab. The server replies 304 if nothing has changed.
const live = document.querySelector("[data-refresh]");
if (live) {
  const seconds = Number(live.dataset.refresh);
  let tag = "";
  setInterval(async () => {
    if (document.hidden || live.contains(document.activeElement)) return;
    const headers = { Accept: "text/html", "Cache-Control": `max-age=${seconds - 1}`, ...(tag && { "If-None-Match": tag }) };
    const reply = await fetch(location.href, { headers }).catch(() => null);
    if (!reply || !reply.ok || reply.redirected) return;
    tag = reply.headers.get("ETag") || "";
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const fresh = page.querySelector("[data-refresh]");
    if (fresh) live.replaceChildren(...fresh.childNodes);
  }, seconds * 1000);
}
