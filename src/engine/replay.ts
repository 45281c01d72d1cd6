import type { Emit } from '../contract/emit.ts'
import type { EngineEvent } from '../contract/event.ts'

type RawText = Extract<EngineEvent, { type: 'raw-text' }>

/** What was passed on of a choice, and what of it the repeated run has not generated yet. */
type Passed = { text: string; tokens: number; hasFinished: boolean; textAhead: string; tokensAhead: number }

/**
 * Lets a run that lost its process begin again without its reader noticing: with the same seed it generates the same text, and what
 * was passed on before is left out. A run that generates something else fails with the given error: two texts must not become one.
 */
export class Replay {
  readonly #emit: Emit<EngineEvent>
  readonly #choices = new Map<number, Passed>()
  #hasPassed = false
  #isReplayable = true
  #hasReadPrompt = false
  #promptTokens = 0
  #promptTokensAhead = 0
  #failure: unknown

  constructor(emit: Emit<EngineEvent>) {
    this.#emit = emit
  }

  /** Something was passed on. */
  get hasPassed(): boolean {
    return this.#hasPassed
  }

  /** Only raw text can be compared: calls have ids that a server makes anew. */
  get isReplayable(): boolean {
    return this.#isReplayable
  }

  /** The run begins again, because of this failure. */
  restart(failure: unknown): void {
    this.#failure = failure
    this.#promptTokensAhead = this.#promptTokens
    for (const choice of this.#choices.values()) {
      choice.textAhead = choice.text
      choice.tokensAhead = choice.tokens
    }
  }

  readonly take: Emit<EngineEvent> = (event) => {
    this.#hasPassed = true
    switch (event.type) {
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
      case 'raw-text':
        return this.#takeText(event)
      case 'finish': {
        const choice = this.#choiceOf(event.choice)
        if (isBehind(choice)) throw this.#failure
        if (choice.hasFinished) return undefined
        choice.hasFinished = true
        return this.#emit(event)
      }
      case 'usage':
        if ([...this.#choices.values()].some(isBehind)) throw this.#failure
        return this.#emit(event)
      default:
        this.#isReplayable = false
        return this.#emit(event)
    }
  }

  #takeText(event: RawText): Promise<void> | undefined {
    const choice = this.#choiceOf(event.choice)
    if (!isBehind(choice)) return this.#pass(choice, event)
    const { textAhead } = choice
    const { text, tokens = [] } = event
    const isPart = textAhead.startsWith(text) && tokens.length <= choice.tokensAhead
    if (isPart) {
      choice.textAhead = textAhead.slice(text.length)
      choice.tokensAhead -= tokens.length
      return undefined
    }
    // Pieces may have other bounds; tokens belong to one piece.
    if (!text.startsWith(textAhead) || tokens.length > 0) throw this.#failure
    choice.textAhead = ''
    return this.#pass(choice, { ...event, text: text.slice(textAhead.length) })
  }

  #pass(choice: Passed, event: RawText): Promise<void> | undefined {
    choice.text += event.text
    choice.tokens += event.tokens?.length ?? 0
    return this.#emit(event)
  }

  #choiceOf(index: number): Passed {
    const known = this.#choices.get(index)
    if (known !== undefined) return known
    const choice = { text: '', tokens: 0, hasFinished: false, textAhead: '', tokensAhead: 0 }
    this.#choices.set(index, choice)
    return choice
  }
}

function isBehind({ textAhead, tokensAhead }: Passed): boolean {
  return textAhead !== '' || tokensAhead > 0
}
