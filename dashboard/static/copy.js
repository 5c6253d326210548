// Buttons that copy a text, which is in `data-copy`.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const { copy } = button.dataset;
  try {
    await navigator.clipboard.writeText(copy); // there is no clipboard without TLS
    button.textContent = "copied";
  } catch {
    button.textContent = copy;
    getSelection().selectAllChildren(button);
  }
});
