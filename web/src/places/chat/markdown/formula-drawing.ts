import temml from 'temml'
import sheet from '../../../styles/formula.css?url'
import type { Formula } from './formula.ts'
import { copySources } from './formula-copy.ts'

// Nothing is drawn before its style is there.
await new Promise((resolve) => {
  document.head.append(
    Object.assign(document.createElement('link'), { rel: 'stylesheet', href: sheet, onload: resolve, onerror: resolve }),
  )
})
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
