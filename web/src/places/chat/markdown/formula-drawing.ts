import temml from 'temml'
import sheet from '../../../styles/formula.css?url'
import type { Formula } from './formula.ts'

// Nothing is drawn before its style is there.
await new Promise((resolve) => {
  document.head.append(
    Object.assign(document.createElement('link'), { rel: 'stylesheet', href: sheet, onload: resolve, onerror: resolve }),
  )
})
// Nor before its font is, which the browser fetches for the first formula where the system has none: what is drawn would move.
const first = Object.assign(document.createElement('div'), { className: 'copied' })
const formula = drawFormula({ tex: 'x', isDisplay: false })
if (formula !== undefined) first.append(formula)
document.body.append(first)
first.getBoundingClientRect()
await document.fonts.ready
first.remove()
document.addEventListener('copy', copySources)

/** Draws a formula as MathML; undefined: it is not TeX that the library knows. */
export function drawFormula({ tex, isDisplay }: Formula): HTMLElement | undefined {
  const room = Object.assign(document.createElement('span'), { className: isDisplay ? 'formula display' : 'formula' })
  // A long one scrolls on a small screen, also by keyboard.
  if (isDisplay && tex.length > 40) Object.assign(room, { tabIndex: 0, role: 'group', ariaLabel: 'formula' })
  try {
    temml.render(tex, room, { displayMode: isDisplay, throwOnError: true, wrap: 'tex', maxSize: [50, 50] })
  } catch {
    // Also what nests deeper than the library's recursion can go.
    return undefined
  }
  // `\label` and `\ref` would name elements of the page.
  for (const element of room.querySelectorAll('[id], [href]')) {
    element.removeAttribute('id')
    element.removeAttribute('href')
  }
  return room
}

/** Copies a selection with drawn formulas as text that has their sources, which models and editors can read. */
function copySources(event: ClipboardEvent): void {
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
