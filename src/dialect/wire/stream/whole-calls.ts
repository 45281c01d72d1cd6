import type { EventOf, GeneratedToken } from '../../../contract/event.ts'

type WholeCall = {
  readonly id: string
  readonly name: string
  readonly input: string
  readonly tokens: readonly GeneratedToken[]
}

/** Joins the pieces of calls that follow each other, as those of one choice do. */
export class WholeCalls {
  #open: { id: string; name: string; input: string; tokens: GeneratedToken[] } | undefined

  begin({ id, name, tokens = [] }: EventOf<'tool-call-start'>): void {
    this.#open = { id, name, input: '', tokens: [...tokens] }
  }

  add({ delta, tokens = [] }: EventOf<'tool-call-delta'>): void {
    if (this.#open === undefined) return
    this.#open.input += delta
    for (const token of tokens) this.#open.tokens.push(token)
  }

  /** The call since `begin`, once. A call is complete when it ends, or another block begins. */
  take(): WholeCall | undefined {
    const call = this.#open
    this.#open = undefined
    return call
  }
}
