// Elements that are drawn again: what is equal stays as it is, with its focus and selection.

/** Make nodes the children of an element. Listeners of a node are lost where an older node is changed instead. */
function updateChildren(parent, nodes) {
  // A child with the same id is the same one, wherever it was: it keeps what a person has written into it.
  const ids = new Set(nodes.map((it) => it.id).filter(Boolean));
  for (const child of [...parent.children]) if (child.id && !ids.has(child.id)) child.remove();
  const byId = new Map([...parent.children].filter((it) => it.id).map((it) => [it.id, it]));
  nodes.forEach((node, index) => {
    const same = node.id ? byId.get(node.id) : null;
    // An element that is moved loses the focus, so texts before it are removed instead.
    while (same && parent.childNodes[index] !== same && parent.childNodes[index]?.nodeType === Node.TEXT_NODE) parent.childNodes[index].remove();
    const old = parent.childNodes[index];
    if (same && same !== old) parent.insertBefore(same, old ?? null);
    if (same || old) updateNode(same ?? old, node);
    else parent.append(node);
  });
  while (parent.childNodes.length > nodes.length) parent.lastChild.remove();
}

/** Make a node equal to a new one, or replace it if it is of another kind. What a person has opened stays open. */
export function updateNode(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  // Elements with other ids are others: a field must not keep what was written into another one.
  if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== fresh.nodeName || old.id !== fresh.id) {
    old.replaceWith(fresh);
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !(name === "open" && old.nodeName === "DETAILS")) old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  updateChildren(old, [...fresh.childNodes]);
}
