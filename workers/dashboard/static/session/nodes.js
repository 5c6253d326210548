// Elements that are drawn again: what is equal stays as it is, with its focus and selection.

/** Make nodes the children of an element. Listeners of a node are lost where an older node is changed instead. */
export function updateChildren(parent, nodes) {
  const old = [...parent.childNodes];
  nodes.forEach((node, index) => {
    if (index < old.length) updateNode(old[index], node);
    else parent.append(node);
  });
  for (const node of old.slice(nodes.length)) node.remove();
}

/** Make a node equal to a new one, or replace it if it is of another kind. */
export function updateNode(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== Node.ELEMENT_NODE || old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
    return;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  updateChildren(old, [...fresh.childNodes]);
}
