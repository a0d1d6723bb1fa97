// The page works without this script. It signs in by the code of a link, shows local times, and adds keys.
"use strict";
const code = location.hash.slice(1);
const signin = document.getElementById("signin");
if (signin && /^[0-9a-f]{64}$/.test(code)) {
  // The code leaves the address before anything else can read it.
  history.replaceState(null, "", location.pathname);
  signin.code.value = code;
  signin.submit();
}
for (const time of document.querySelectorAll("time")) {
  const at = new Date(time.dateTime);
  if (!isNaN(at)) {
    time.title = time.dateTime;
    time.textContent = at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  }
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA)$/.test(event.target.tagName)) return;
  const places = [...document.querySelectorAll(".file, .rows a")];
  const at = places.findIndex((place) => place === document.activeElement || place.contains(document.activeElement));
  const step = { j: 1, k: -1 }[event.key];
  if (step && places.length) {
    const next = places[Math.max(0, Math.min(places.length - 1, at + step))];
    next.tabIndex = next.tabIndex < 0 ? -1 : next.tabIndex;
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }
  if (event.key === "?") document.getElementById("keys")?.showModal();
  if (event.key === "g") location.assign("/");
  // A key moves to the button and does not press it: a slip must not land anything.
  if (event.key === "a" || event.key === "d") document.querySelector(`[data-key=${event.key}]`)?.focus();
});
