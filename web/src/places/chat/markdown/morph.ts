/** Makes `to` equal to `from` with as few changes as possible: text grows in place, so that a selection in it stays. */
export function morph(to: Node, from: Node): void {
  const made = [...from.childNodes]
  for (const [index, next] of made.entries()) {
    const now = to.childNodes[index]
    if (now === undefined) to.appendChild(next)
    else if (now instanceof Text && next instanceof Text) growText(now, next.data)
    else if (now instanceof Element && next instanceof Element && now.cloneNode().isEqualNode(next.cloneNode())) morph(now, next)
    else to.replaceChild(next, now)
  }
  while (to.childNodes.length > made.length) to.lastChild?.remove()
}

function growText(text: Text, data: string): void {
  if (text.data === data) return
  if (data.startsWith(text.data)) text.appendData(data.slice(text.length))
  else text.data = data
}
