// The page works without this script. It signs in by the code of a link, shows local times, adds keys, and shows an answer as it
// arrives.
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
const answer = document.querySelector("[data-stream]");
if (answer) {
  const events = new EventSource(answer.dataset.stream);
  events.addEventListener("text", (event) => {
    const piece = JSON.parse(event.data);
    // As text, never as HTML: it is a model's.
    answer.textContent = piece.from ? answer.textContent + piece.text : piece.text;
    document.getElementById("note").textContent = piece.note;
  });
  events.addEventListener("done", () => {
    events.close();
    location.reload();
  });
}
document.addEventListener("keydown", (event) => {
  const place = event.target;
  const sends = (event.ctrlKey || event.metaKey) && event.key === "Enter" && place.tagName === "TEXTAREA";
  if (sends) place.form.requestSubmit();
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA)$/.test(place.tagName)) return;
  const places = [...document.querySelectorAll(".file, .rows a")];
  const at = places.findIndex((one) => one === document.activeElement || one.contains(document.activeElement));
  const step = { j: 1, k: -1 }[event.key];
  if (step && places.length) {
    const next = places[Math.max(0, Math.min(places.length - 1, at + step))];
    if (next.tabIndex < 0) next.tabIndex = -1;
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: next.matches(".file") ? "start" : "nearest" });
  }
  if (event.key === "?") document.getElementById("keys")?.showModal();
  if (event.key === "g") location.assign("/");
  // A key moves to the button and does not press it: a slip must not land anything.
  if (event.key === "a" || event.key === "d") document.querySelector(`[data-key=${event.key}]`)?.focus();
});
