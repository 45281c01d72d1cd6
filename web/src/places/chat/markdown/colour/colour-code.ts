import { runsOf } from './ask-worker.ts'
import { codeKinds } from './kinds.ts'
import type { Runs } from './run-emitter.ts'

/** Longer code keeps one colour. */
const longestCode = 500_000

/** Where the runs of a piece begin: at one of them, `used` characters into it. */
type Place = { readonly runs: Runs; readonly at: number; readonly used: number }

const places = new WeakMap<Element, Place>()
const queue: Element[] = []
let frame = 0

/** Pieces are coloured when they come near what a reader sees. */
const nearby = new IntersectionObserver(
  (entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue
      nearby.unobserve(target)
      queue.push(target)
    }
    if (queue.length > 0 && frame === 0) frame = requestAnimationFrame(paintNext)
  },
  { rootMargin: '800px', scrollMargin: '800px' },
)

/** Colours the code of a frame, which is complete, in its language. */
export async function colourCode(room: Element): Promise<void> {
  const language = room.querySelector('.md-code-head')?.firstElementChild?.textContent ?? ''
  const pieces = [...room.querySelectorAll('.md-piece, pre > code')]
  const code = textOf(pieces)
  if (language === '' || code === '' || code.length > longestCode) return
  const runs = await runsOf(language, code)
  // It may have grown meanwhile.
  if (runs === undefined || textOf(pieces) !== code) return
  let at = 0
  let used = 0
  for (const piece of pieces) {
    places.set(piece, { runs, at, used })
    used += piece.textContent.length
    while (at < runs.length && used >= (runs[at] ?? 0)) {
      used -= runs[at] ?? 0
      at += 2
    }
    nearby.observe(piece)
  }
}

function textOf(pieces: readonly Element[]): string {
  return pieces.map((piece) => piece.textContent).join('')
}

/** One piece in a frame. */
function paintNext(): void {
  const piece = queue.shift()
  frame = queue.length > 0 ? requestAnimationFrame(paintNext) : 0
  const place = piece === undefined ? undefined : places.get(piece)
  if (piece === undefined || place === undefined) return
  // A reader's selection stays.
  const selection = getSelection()
  if (selection !== null && !selection.isCollapsed && selection.containsNode(piece, true)) {
    document.addEventListener('selectionchange', () => nearby.observe(piece), { once: true })
    return
  }
  piece.replaceChildren(...spansOf(piece.textContent, place))
}

function* spansOf(text: string, { runs, at, used }: Place): Iterable<Node> {
  let end = (runs[at] ?? 0) - used
  for (let begin = 0, run = at; begin < text.length; run += 2, end += runs[run] ?? text.length) {
    const part = text.slice(begin, end)
    const kind = codeKinds[runs[run + 1] ?? 0]
    yield kind === undefined || kind === 'plain'
      ? document.createTextNode(part)
      : Object.assign(document.createElement('span'), { className: `code-${kind}`, textContent: part })
    begin = end
  }
}
