import { BlockSplitter, endsFence, startsFence } from './blocks.ts'
import { isCheap } from './cost.ts'
import { codeFrame, renderMarkdown } from './rebuild.ts'

/** The time for blocks in one frame; the rest waits for the next. */
const frameBudgetMs = 10
/** Text is laid out in pieces of about this size; those out of sight cost nothing. */
const pieceChars = 8_000
/** Characters of one text that are added in a frame. */
const frameChars = 100_000

/** Shows Markdown in an element, and keeps up with its growth in small steps. */
export class MarkdownView {
  readonly #element: HTMLElement
  #text = ''
  #isGrowing = true
  #splitter = new BlockSplitter()
  #shown = 0
  #open: Block | undefined
  #group: HTMLElement | undefined
  #groupChars = 0
  #frame = 0
  #parseMs = 0
  #lastParseMs = Number.NEGATIVE_INFINITY

  constructor(element: HTMLElement) {
    this.#element = element
  }

  update(text: string, isGrowing: boolean): void {
    if (text === this.#text && isGrowing === this.#isGrowing) return
    this.#isGrowing = isGrowing
    if (text.startsWith(this.#text)) this.#splitter.append(text.slice(this.#text.length))
    else {
      this.#splitter = new BlockSplitter()
      this.#splitter.append(text)
      this.#element.replaceChildren()
      this.#shown = 0
      this.#open = undefined
      this.#group = undefined
    }
    this.#text = text
    this.#element.classList.toggle('md-long', text.length > 20_000)
    // This runs in a frame, and is painted with it.
    cancelAnimationFrame(this.#frame)
    this.#work()
  }

  close(): void {
    cancelAnimationFrame(this.#frame)
  }

  #work(): void {
    const endMs = performance.now() + frameBudgetMs
    const { closed } = this.#splitter
    const shownBefore = this.#shown
    while (this.#shown < closed.length) {
      // The first one takes the place of the open block, and the next one what was shown with it.
      if (this.#shown > shownBefore + 1 && performance.now() > endMs) return void this.#later()
      const block = closed[this.#shown] ?? ''
      this.#open ??= new Block(this.#room())
      this.#open.update(block, false)
      this.#open.finish()
      this.#open = undefined
      this.#shown += 1
      this.#groupChars += block.length
    }
    const { open } = this.#splitter
    if (open.trim() === '') return
    // Parsing again may take at most a quarter of the time.
    if (this.#shown === shownBefore && performance.now() - this.#lastParseMs < 3 * this.#parseMs) return void this.#later()
    const beganMs = performance.now()
    this.#open ??= new Block(this.#room())
    this.#open.update(open, true)
    if (!this.#isGrowing) this.#open.finish()
    this.#lastParseMs = performance.now()
    this.#parseMs = this.#lastParseMs - beganMs
  }

  /** Blocks are laid out in groups; those out of sight cost nothing. */
  #room(): HTMLElement {
    if (this.#group === undefined || this.#groupChars > pieceChars) {
      this.#group = Object.assign(document.createElement('div'), { className: 'md-group' })
      this.#groupChars = 0
      this.#element.append(this.#group)
    }
    return this.#group
  }

  #later(): void {
    this.#frame = requestAnimationFrame(() => this.#work())
  }
}

/** A block, which may grow. */
class Block {
  readonly #room = Object.assign(document.createElement('div'), { className: 'md-block' })
  #kind: 'markdown' | 'code' | 'plain' | undefined
  #pieces: Pieces | undefined

  constructor(element: HTMLElement) {
    element.append(this.#room)
  }

  update(block: string, isLast: boolean): void {
    const kind = startsFence(block) ? 'code' : isCheap(block) ? 'markdown' : 'plain'
    if (kind !== this.#kind) {
      this.#room.replaceChildren()
      this.#pieces = undefined
      this.#kind = kind
    }
    switch (kind) {
      case 'markdown':
        return void morph(this.#room, renderMarkdown(block, isLast))
      case 'code': {
        const { language, code } = readFence(block)
        // Until its first line ends, the language may be incomplete.
        if (!block.includes('\n')) return
        this.#pieces ??= piecesOfCode(this.#room, language)
        return void this.#pieces.update(code)
      }
      case 'plain':
        this.#pieces ??= new Pieces(plainRoom(this.#room))
        return void this.#pieces.update(block)
    }
  }

  /** No more comes, or not soon. */
  finish(): void {
    const colourAll = () => {
      for (const frame of this.#room.querySelectorAll('.md-code')) colour(frame)
    }
    if (this.#pieces === undefined) colourAll()
    else this.#pieces.whenComplete(colourAll)
  }
}

/** What colours code is fetched for the first code that is complete. Without the server, code stays as it is. */
function colour(frame: Element): void {
  import('./colour/colour-code.ts').then(
    ({ colourCode }) => colourCode(frame),
    () => undefined,
  )
}

function readFence(block: string): { readonly language: string; readonly code: string } {
  const end = block.indexOf('\n')
  const [, fence = '```', language = ''] = /^(`{3,}|~{3,})\s*(\S*)/.exec(block) ?? []
  const code = end < 0 ? '' : block.slice(end + 1)
  const lastLine = code.trimEnd().lastIndexOf('\n') + 1
  return { language, code: endsFence(code.slice(lastLine), fence) ? code.slice(0, lastLine) : code }
}

function piecesOfCode(room: HTMLElement, language: string): Pieces {
  const pre = document.createElement('pre')
  room.append(codeFrame(language, pre))
  return new Pieces(pre)
}

function plainRoom(room: HTMLElement): HTMLElement {
  const plain = Object.assign(document.createElement('div'), { className: 'md-plain' })
  room.append(plain)
  return plain
}

/** A growing text, split at line ends. What is too much for one frame comes with the next ones. */
class Pieces {
  readonly #room: HTMLElement
  #text = ''
  #shown = 0
  #last: Text | undefined
  #frame = 0
  #onComplete: () => void = () => undefined

  constructor(room: HTMLElement) {
    this.#room = room
  }

  update(text: string): void {
    // Colours take the place of the text that grew.
    const isColoured = this.#last !== undefined && this.#last.parentNode === null
    if (isColoured || !text.startsWith(this.#text)) {
      this.#room.replaceChildren()
      this.#shown = 0
      this.#last = undefined
    }
    this.#text = text
    this.#work()
  }

  /** Calls a function once all of the text is there. */
  whenComplete(act: () => void): void {
    if (this.#shown === this.#text.length) act()
    else this.#onComplete = act
  }

  #work(): void {
    cancelAnimationFrame(this.#frame)
    const most = this.#shown + frameChars
    let rest = this.#text.slice(this.#shown)
    while (rest !== '') {
      if (this.#shown >= most) {
        this.#frame = requestAnimationFrame(() => this.#work())
        return
      }
      const room = pieceChars - (this.#last?.length ?? 0)
      const line = rest.indexOf('\n', Math.max(0, room))
      // A line without an end is cut.
      const end = line < 0 || line > room + pieceChars ? Math.min(rest.length, room + pieceChars) : line + 1
      this.#grow(rest.slice(0, end))
      this.#shown += end
      rest = rest.slice(end)
      if (rest !== '') this.#last = undefined
    }
    this.#onComplete()
    this.#onComplete = () => undefined
  }

  #grow(text: string): void {
    if (this.#last !== undefined) return void this.#last.appendData(text)
    const piece = Object.assign(document.createElement('span'), { className: 'md-piece' })
    this.#last = document.createTextNode(text)
    piece.append(this.#last)
    this.#room.append(piece)
  }
}

/** Makes `to` equal to `from` with as few changes as possible: text grows in place, so that a selection in it stays. */
function morph(to: Node, from: Node): void {
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
