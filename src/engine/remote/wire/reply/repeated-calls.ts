import type { EngineEvent } from '../../../../contract/event.ts'
import type { CallSoFar } from '../body/request-body.ts'

/** Calls that a reply began, as they are read again from the text that continues it: with the ids, and without the text, that the client has. */
export class RepeatedCalls {
  readonly #sent: readonly CallSoFar[]
  /** The calls that were read again, by their new ids. */
  readonly #read = new Map<string, CallSoFar>()
  /** How much of the last call's arguments has been read again. */
  #at = 0

  constructor(sent: readonly CallSoFar[]) {
    this.#sent = sent
  }

  /** Reads what the client has. False if that is something else. */
  skip(events: readonly EngineEvent[]): boolean {
    const isSpace = (event: EngineEvent) => event.type === 'tool-call-delta' && event.delta.trim() === ''
    return this.rest(events)?.every((event) => !event.type.startsWith('tool-call') || isSpace(event)) === true
  }

  /** The events without what the client has. Undefined if they say something else than that. */
  rest(events: readonly EngineEvent[]): readonly EngineEvent[] | undefined {
    const rest: EngineEvent[] = []
    for (const event of events) {
      if (event.type === 'tool-call-start' && this.#read.size < this.#sent.length) {
        const sent = this.#sent[this.#read.size]
        if (sent?.name !== event.name) return undefined
        this.#read.set(event.id, sent)
        continue
      }
      const isOfCall = event.type === 'tool-call-delta' || event.type === 'tool-call-end'
      const call = isOfCall ? this.#read.get(event.id) : undefined
      if (call === undefined) rest.push(event)
      else if (call !== this.#sent.at(-1)) continue
      else if (event.type === 'tool-call-end') rest.push({ ...event, id: call.id })
      else if (event.type === 'tool-call-delta') {
        const delta = this.#skip(event.delta)
        if (delta === undefined) return undefined
        if (delta !== '') rest.push({ ...event, id: call.id, delta })
      }
    }
    return rest
  }

  /** What of the text is new; undefined if it differs from what the client has, other than by white space. */
  #skip(text: string): string | undefined {
    const sent = this.#sent.at(-1)?.arguments ?? ''
    let from = 0
    while (this.#at < sent.length && from < text.length) {
      const [had, has] = [sent[this.#at] ?? '', text[from] ?? '']
      if (had === has) {
        this.#at += 1
        from += 1
      } else if (/\s/.test(has)) from += 1
      else if (/\s/.test(had)) this.#at += 1
      else return undefined
    }
    return text.slice(from)
  }
}
