import type { drawFormula } from './formula-drawing.ts'

/**
 * The element of a formula, by its source with delimiters. It is the source in code as long as the library that draws formulas, which the
 * first formula fetches, is not here, and stays so where the library cannot read it.
 */
export function formulaElement(source: string): HTMLElement {
  const known = drawn.get(source)
  if (known !== undefined) return known.cloneNode(true) as HTMLElement
  const formula = readSource(source)
  if (draw === undefined || formula === undefined) {
    if (formula !== undefined) fetchLibrary()
    return written(source, formula === undefined)
  }
  const made = draw(formula)
  if (made === undefined) return written(source, false)
  made.dataset.source = source
  if (drawn.size >= mostDrawn) drawn.clear()
  drawn.set(source, made)
  return made.cloneNode(true) as HTMLElement
}

/** Formulas that were drawn, for the next time that their block is read. */
const drawn = new Map<string, HTMLElement>()
const mostDrawn = 500

let draw: typeof drawFormula | undefined
let isFetching = false

function fetchLibrary(): void {
  if (isFetching) return
  isFetching = true
  const drawAll = (library: { readonly drawFormula: typeof drawFormula }) => {
    draw = library.drawFormula
    for (const waiting of document.querySelectorAll('.md code.formula')) {
      waiting.replaceWith(formulaElement(waiting.textContent))
    }
  }
  // Without the server, formulas stay as they were written until the next one asks again.
  import('./formula-drawing.ts')
    .then(drawAll, () => undefined)
    .finally(() => {
      isFetching = false
    })
}

/** As the model wrote it. While an answer grows, a formula without its end takes one line, as it will when it is drawn. */
function written(source: string, isOpen: boolean): HTMLElement {
  const className = `formula${isOpen ? ' open' : ''}${isDisplay(source) ? ' display' : ''}`
  return Object.assign(document.createElement('code'), { className, textContent: source })
}

export type Formula = { readonly tex: string; readonly isDisplay: boolean }

const ends: Readonly<Record<string, string>> = { '\\(': '\\)', '\\[': '\\]', $$: '$$', $: '$' }

/** The part between the delimiters; undefined: the end is missing. */
export function readSource(source: string): Formula | undefined {
  const begin = source.startsWith('$') && !source.startsWith('$$') ? '$' : source.slice(0, 2)
  const end = ends[begin] ?? begin
  const at = source.lastIndexOf(end)
  // An escaped dollar sign is a part of it.
  if (at < begin.length || (end.startsWith('$') && source[at - 1] === '\\')) return undefined
  // A full stop after a formula on a line of its own belongs to it.
  return { tex: source.slice(begin.length, at) + source.slice(at + end.length).trim(), isDisplay: isDisplay(source) }
}

function isDisplay(source: string): boolean {
  return source.startsWith('\\[') || source.startsWith('$$')
}
