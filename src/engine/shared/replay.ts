import type { Emit } from '../../base/emit.ts'
import type { EngineEvent } from '../../contract/event.ts'

type OfChoice = Extract<EngineEvent, { readonly choice: number }>

/** One event, or consecutive deltas of one block. `key`: the event without its text. */
type Piece = { readonly key: string; text: string; tokens: number; readonly isDelta: boolean }

type Choice = {
  readonly passed: Piece[]
  /** The pieces that the repeated run has not generated yet. */
  ahead: Piece[]
  /** The ids of its calls, as the reader knows them. */
  readonly callIds: string[]
  /** From the ids of this run, which a server creates anew, to `callIds`. */
  readonly knownIds: Map<string, string>
}

/**
 * Lets a run that lost its process restart without its reader noticing: with the same seed it generates the same output, and what was
 * already passed on is left out. If the output differs, the run fails with the given error: two outputs must not become one.
 */
export class Replay {
  readonly #emit: Emit<EngineEvent>
  readonly #choices = new Map<number, Choice>()
  #hasReadPrompt = false
  #promptTokens = 0
  #promptTokensAhead = 0
  #failure: unknown

  constructor(emit: Emit<EngineEvent>) {
    this.#emit = emit
  }

  /** Restarts the run after this failure. */
  restart(failure: unknown): void {
    this.#failure = failure
    this.#promptTokensAhead = this.#promptTokens
    for (const choice of this.#choices.values()) {
      choice.ahead = choice.passed.map((piece) => ({ ...piece }))
      choice.knownIds.clear()
    }
  }

  readonly take: Emit<EngineEvent> = (event) => {
    switch (event.type) {
      case 'start':
      case 'error':
        return this.#emit(event)
      case 'prompt-progress':
        return this.#hasReadPrompt ? undefined : this.#emit(event)
      case 'prompt-read':
        if (this.#hasReadPrompt) return undefined
        this.#hasReadPrompt = true
        return this.#emit(event)
      case 'prompt-tokens': {
        const promptTokens = event.promptTokens.slice(this.#promptTokensAhead)
        this.#promptTokensAhead -= event.promptTokens.length - promptTokens.length
        this.#promptTokens += promptTokens.length
        return promptTokens.length === 0 ? undefined : this.#emit({ ...event, promptTokens })
      }
      case 'usage':
        if ([...this.#choices.values()].some(({ ahead }) => ahead.length > 0)) throw this.#failure
        return this.#emit(event)
      default:
        return this.#takeOutput(event)
    }
  }

  #takeOutput(made: OfChoice): Promise<void> | undefined {
    const choice = this.#choiceOf(made.choice)
    const event = 'id' in made ? { ...made, id: knownId(choice, made) } : made
    const piece = pieceOf(event)
    const [ahead] = choice.ahead
    if (ahead === undefined) return this.#pass(choice, event, piece)
    if (ahead.key !== piece.key) throw this.#failure
    if (ahead.text.startsWith(piece.text) && piece.tokens <= ahead.tokens) {
      ahead.text = ahead.text.slice(piece.text.length)
      ahead.tokens -= piece.tokens
      if (ahead.text === '' && ahead.tokens === 0) choice.ahead.shift()
      return undefined
    }
    // Deltas may be divided differently; tokens belong to one delta.
    if (choice.ahead.length > 1 || !piece.text.startsWith(ahead.text) || piece.tokens > 0) throw this.#failure
    choice.ahead = []
    const text = piece.text.slice(ahead.text.length)
    return this.#pass(choice, withText(event, text), { ...piece, text })
  }

  #pass(choice: Choice, event: OfChoice, piece: Piece): Promise<void> | undefined {
    const last = choice.passed.at(-1)
    if (last?.key === piece.key && piece.isDelta) {
      last.text += piece.text
      last.tokens += piece.tokens
    } else choice.passed.push(piece)
    return this.#emit(event)
  }

  #choiceOf(index: number): Choice {
    const known = this.#choices.get(index)
    if (known !== undefined) return known
    const choice = { passed: [], ahead: [], callIds: [], knownIds: new Map() }
    this.#choices.set(index, choice)
    return choice
  }
}

/** The nth call of a repeated run has the id that the nth call had before. */
function knownId({ callIds, knownIds }: Choice, { id }: { readonly id: string }): string {
  const known = knownIds.get(id) ?? callIds[knownIds.size] ?? id
  if (!callIds.includes(known)) callIds.push(known)
  knownIds.set(id, known)
  return known
}

function pieceOf(event: OfChoice): Piece {
  const count = 'tokens' in event ? (event.tokens?.length ?? 0) : 0
  switch (event.type) {
    case 'raw-text':
      return { key: event.type, text: event.text, tokens: count, isDelta: true }
    case 'text-delta':
    case 'reasoning-delta':
    case 'refusal-delta':
      return { key: event.type, text: event.delta, tokens: count, isDelta: true }
    case 'tool-call-delta':
      return { key: `${event.type} ${event.id}`, text: event.delta, tokens: count, isDelta: true }
    case 'tool-call-start':
      return { key: JSON.stringify({ ...event, tokens: undefined }), text: '', tokens: count, isDelta: false }
    default:
      return { key: JSON.stringify(event), text: '', tokens: 0, isDelta: false }
  }
}

function withText(event: OfChoice, text: string): OfChoice {
  if ('text' in event) return { ...event, text }
  return 'delta' in event ? { ...event, delta: text } : event
}
