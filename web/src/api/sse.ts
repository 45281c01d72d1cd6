type ServerEvent = { readonly event: string; readonly data: string; readonly id: string | undefined }

/** Takes pieces of a stream, split anywhere, and gives its complete events. */
export class EventParser {
  #rest = ''
  readonly #onComment: (comment: string) => void

  constructor(onComment: (comment: string) => void = () => undefined) {
    this.#onComment = onComment
  }

  push(piece: string): ServerEvent[] {
    const lines = (this.#rest + piece).split('\n\n')
    this.#rest = lines.pop() ?? ''
    return lines.map((frame) => parse(frame, this.#onComment)).filter((event) => event !== undefined)
  }
}

function parse(frame: string, onComment: (comment: string) => void): ServerEvent | undefined {
  let event = 'message'
  let id: string | undefined
  const data: string[] = []
  for (const line of frame.split('\n')) {
    const at = line.indexOf(':')
    const name = at < 0 ? line : line.slice(0, at)
    const value = at < 0 ? '' : line.slice(line[at + 1] === ' ' ? at + 2 : at + 1).replace(/\r$/, '')
    if (at === 0) onComment(value)
    else if (name === 'event') event = value
    else if (name === 'id') id = value
    else if (name === 'data') data.push(value)
  }
  return data.length === 0 ? undefined : { event, id, data: data.join('\n') }
}

type Listener = {
  readonly onComment?: (comment: string) => void
  /** Called before each group of events, with the length of the stream up to its end. */
  readonly onBytes?: (bytes: number) => void
}

/** The events of a response as they arrive, grouped by read. */
export async function* readEvents(
  response: Response,
  { onComment, onBytes }: Listener = {},
): AsyncGenerator<readonly ServerEvent[]> {
  const parser = new EventParser(onComment)
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  if (reader === undefined) return
  const frames = new FrameEnd()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      frames.push(value)
      const events = parser.push(decoder.decode(value, { stream: true }))
      if (events.length === 0) continue
      onBytes?.(frames.end)
      yield events
    }
  } finally {
    // Ends the request when the reader of these events leaves early.
    await reader.cancel().catch(() => undefined)
  }
}

/** Where the last complete frame ends. */
class FrameEnd {
  end = 0
  #received = 0
  #last = 0

  push(bytes: Uint8Array): void {
    for (let at = bytes.length - 1; at >= 0; at -= 1) {
      if (bytes[at] !== newline || (at === 0 ? this.#last : bytes[at - 1]) !== newline) continue
      this.end = this.#received + at + 1
      break
    }
    this.#received += bytes.length
    this.#last = bytes.at(-1) ?? this.#last
  }
}

const newline = 0x0a
