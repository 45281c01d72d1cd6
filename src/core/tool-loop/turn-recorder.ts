import type { Emit } from '../../base/emit.ts'
import { callsOf, outputOf } from '../../canonical/parts.ts'
import type { AppError } from '../../contract/errors.ts'
import type { EventOf, GenerationEvent } from '../../contract/event.ts'
import type { OutputPart, ToolCallPart } from '../../contract/request.ts'
import { addToDraft, type Draft, newDraft } from '../../contract/result.ts'

type Ending = {
  readonly finish: EventOf<'finish'>
  readonly usage: EventOf<'usage'>
}

type Rules = {
  readonly isFirst: boolean
  /** Whether a call is the caller's to run; its events are passed on. */
  isCallers(name: string): boolean
  /** Separates this turn's text from the earlier turns', for readers. */
  readonly lead: string
  readonly emit: Emit<GenerationEvent>
}

/** Records one turn of the model within a reply. Passes its events on, except its end and calls of the server's tools. */
export class TurnRecorder {
  readonly #rules: Rules
  readonly #draft: Draft = newDraft()
  readonly #passed = new Set<string>()
  #lead: string
  #open: 'text' | 'reasoning' | 'refusal' | undefined = undefined
  #usage: Ending['usage'] | undefined = undefined
  #finish: Ending['finish'] | undefined = undefined
  #error: AppError | undefined = undefined

  constructor(rules: Rules) {
    this.#rules = rules
    this.#lead = rules.lead
  }

  readonly take: Emit<GenerationEvent> = (event) => {
    const { isFirst, isCallers, emit } = this.#rules
    switch (event.type) {
      case 'start':
      case 'prompt-read':
      case 'prompt-progress':
      case 'prompt-tokens':
        return isFirst ? emit(event) : undefined
      case 'usage':
        this.#usage = event
        return undefined
      case 'error':
        this.#error = event.error
        return undefined
      case 'finish':
        this.#finish = event
        return undefined
      case 'tool-call-start':
        addToDraft(this.#draft, event)
        this.#open = undefined
        if (!isCallers(event.name)) return undefined
        this.#passed.add(event.id)
        return emit(event)
      case 'tool-call-delta':
      case 'tool-call-end':
        addToDraft(this.#draft, event)
        return this.#passed.has(event.id) ? emit(event) : undefined
      case 'text-delta': {
        this.#open = 'text'
        addToDraft(this.#draft, event)
        const lead = this.#lead
        this.#lead = ''
        return emit(lead === '' ? event : { ...event, delta: lead + event.delta })
      }
      case 'text-start':
      case 'reasoning-start':
      case 'reasoning-delta':
      case 'refusal-start':
      case 'refusal-delta':
        this.#open = event.type.replace(/-(start|delta)$/, '') as 'text' | 'reasoning' | 'refusal'
        break
      case 'text-end':
      case 'reasoning-end':
      case 'refusal-end':
        this.#open = undefined
        break
      case 'annotation':
      case 'mcp-tools':
      case 'approval-request':
      case 'server-tool-start':
      case 'server-tool-end':
        break
    }
    addToDraft(this.#draft, event)
    return emit(event)
  }

  /** Ends a block that the next turn must not continue. */
  closeBlock(): ReturnType<Emit<GenerationEvent>> {
    const open = this.#open
    this.#open = undefined
    return open === undefined ? undefined : this.#rules.emit({ type: `${open}-end`, choice: 0 })
  }

  /** How the turn ended. Throws its failure. */
  get ending(): Ending {
    if (this.#error !== undefined) throw this.#error
    if (this.#finish === undefined || this.#usage === undefined)
      throw new Error('a generation that has ended has its finish and its usage')
    return { finish: this.#finish, usage: this.#usage }
  }

  get parts(): readonly OutputPart[] {
    return outputOf(this.#draft.parts)
  }

  get calls(): { readonly server: readonly ToolCallPart[]; readonly callers: readonly ToolCallPart[] } {
    const calls = callsOf(this.#draft.parts)
    return { server: calls.filter(({ id }) => !this.#passed.has(id)), callers: calls.filter(({ id }) => this.#passed.has(id)) }
  }
}
