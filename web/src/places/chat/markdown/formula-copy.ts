/** Copies a selection with drawn formulas as text that has their sources, which models and editors can read. */
export function copySources(event: ClipboardEvent): void {
  const selection = getSelection()
  const isField = event.target instanceof Element && event.target.closest('input, textarea') !== null
  if (selection === null || selection.isCollapsed || isField) return
  const range = selection.getRangeAt(0).cloneRange()
  const first = formulaAround(range.startContainer)
  const last = formulaAround(range.endContainer)
  if (first !== null) range.setStartBefore(first)
  if (last !== null) range.setEndAfter(last)
  const room = Object.assign(document.createElement('div'), { className: 'copied' })
  room.append(range.cloneContents())
  const drawn = room.querySelectorAll<HTMLElement>('.formula[data-source]')
  if (drawn.length === 0) return
  for (const formula of drawn) formula.textContent = formula.dataset.source ?? ''
  document.body.append(room)
  // biome-ignore lint/performance/useDomNodeTextContent: line ends are where they are seen.
  event.clipboardData?.setData('text/plain', room.innerText)
  event.clipboardData?.setData('text/html', room.innerHTML)
  event.preventDefault()
  room.remove()
}

function formulaAround(node: Node): Element | null {
  return (node instanceof Element ? node : node.parentElement)?.closest('.formula[data-source]') ?? null
}
