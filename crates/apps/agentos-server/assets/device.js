// The key of this device: made here, kept where no script can read it out, and used to sign what this device shows.
//
// What is signed is hashed from the bytes that this script received and shows itself, and not from a number of the service: a relay
// that changes one of them gets a signature of something else.
"use strict";

// Opens the store, and does one thing in it.
function useStore(mode, work) {
  return new Promise((resolve, reject) => {
    const opening = indexedDB.open("agentos", 1);
    opening.onupgradeneeded = () => opening.result.createObjectStore("keys");
    opening.onerror = () => reject(opening.error);
    opening.onsuccess = () => {
      const asked = work(opening.result.transaction("keys", mode).objectStore("keys"));
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => reject(asked.error);
    };
  });
}

const findKey = () => useStore("readonly", (store) => store.get("device"));

async function makeKey() {
  const pair = await crypto.subtle.generateKey({ name: "Ed25519" }, false, ["sign", "verify"]);
  await useStore("readwrite", (store) => store.put(pair, "device"));
  return pair;
}

const toBase64 = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes)));
const exportKey = async (pair) => toBase64(await crypto.subtle.exportKey("raw", pair.publicKey));
const toHex = (bytes) => [...new Uint8Array(bytes)].map((byte) => byte.toString(16).padStart(2, "0")).join("");

// Prepares the form by which this device asks to be paired.
async function preparePairing(panel) {
  const pair = (await findKey()) ?? (await makeKey());
  panel.querySelector("[name=key]").value = await exportKey(pair);
  panel.querySelector("form").hidden = false;
  document.getElementById("pair-state").textContent = "Its key is made, and never leaves this browser.";
}

// Shows the review from its own bytes, and signs them when the person approves.
async function prepareApproval(form) {
  const button = form.querySelector("button");
  button.disabled = true;
  const pair = await findKey();
  if (!pair) return void (button.textContent = "Pair this device first");
  const { request } = form.dataset;
  const answer = await fetch(`/requests/${request}/review`);
  const bytes = await answer.arrayBuffer();
  document.querySelector("article.review").outerHTML = new TextDecoder().decode(bytes);
  const rendering = toHex(await crypto.subtle.digest("SHA-256", bytes));
  button.disabled = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const { diff, base, policy, ref, writes } = form.dataset;
    const parts = { request, diff, base, policy, ref, writes, rendering };
    const lines = Object.entries(parts).map(([name, part]) => `${name} ${part}\n`);
    const statement = new TextEncoder().encode("agentos approval 1\n" + lines.join(""));
    const signature = await crypto.subtle.sign("Ed25519", pair.privateKey, statement);
    form.seen.value = rendering;
    form.device_key.value = await exportKey(pair);
    form.signature.value = toBase64(signature);
    form.submit();
  });
}

const panel = document.getElementById("pair");
if (panel) preparePairing(panel).catch((error) => (document.getElementById("pair-state").textContent = `This browser makes no key: ${error.message}`));
const approval = document.querySelector("form[data-diff]");
if (approval) prepareApproval(approval);
