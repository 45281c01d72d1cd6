/** An event of a stream. */
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

/** The events of a response as they arrive, grouped by read. */
export async function* readEvents(
  response: Response,
  onComment?: (comment: string) => void,
): AsyncGenerator<readonly ServerEvent[]> {
  const parser = new EventParser(onComment)
  const decoder = new TextDecoder()
  const reader = response.body?.getReader()
  if (reader === undefined) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const events = parser.push(decoder.decode(value, { stream: true }))
      if (events.length > 0) yield events
    }
  } finally {
    // Ends the request when the reader of these events leaves early.
    await reader.cancel().catch(() => undefined)
  }
}
