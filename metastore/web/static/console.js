// Pages work without scripts. This file adds buttons that copy texts, and refreshes the parts of a page that are live.
"use strict";

for (const text of document.querySelectorAll("pre.copy")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text.textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
  text.before(button);
}

const live = document.querySelector("[data-refresh]");
if (live) {
  setInterval(async () => {
    if (document.hidden || live.contains(document.activeElement)) return;
    const reply = await fetch(location.href, { headers: { Accept: "text/html" } }).catch(() => null);
    if (!reply || !reply.ok || reply.redirected) return;
    const page = new DOMParser().parseFromString(await reply.text(), "text/html");
    const fresh = page.querySelector("[data-refresh]");
    if (fresh) live.replaceChildren(...fresh.childNodes);
  }, Number(live.dataset.refresh) * 1000);
}
