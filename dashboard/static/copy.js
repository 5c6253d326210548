// Buttons that copy: the text in `data-copy`, that of the next element (`data-copy-next`), or those of messages, whose
// addresses are in `data-copy-from`.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy], [data-copy-next], [data-copy-from]");
  if (!button) return;
  try {
    await copy(await textOf(button));
    button.textContent = "copied";
  } catch (error) {
    button.textContent = "not copied";
    button.title = error.message;
  }
});

async function textOf(button) {
  if ("copyNext" in button.dataset) return button.nextElementSibling.textContent;
  if (!button.dataset.copyFrom) return button.dataset.copy;
  const texts = await Promise.all(button.dataset.copyFrom.split(" ").map(readText));
  return texts.join("\n\n");
}

async function readText(address) {
  const response = await fetch(address, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(`Flower answered with status ${response.status}`);
  return (await response.json()).text;
}

/** Copy a text. Browsers have no clipboard for pages without TLS, but on the same machine. */
async function copy(text) {
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  if (!isCopied) throw new Error("the browser has no clipboard for this page");
}
