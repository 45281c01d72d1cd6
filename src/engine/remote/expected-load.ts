import type { Usage } from '../../contract/event.ts'
import type { GenerationRequest, Prompt } from '../../contract/request.ts'
import { promptBytes } from './estimate-tokens.ts'

type Load = {
  /** The likely tokens of the prompt. */
  readonly promptTokens: number
  /** Those of the prompt and the output together. */
  readonly tokens: number
}

/** The weight that the past keeps after each further reply. */
const decay = 0.98
const usualBytesPerToken = 4
/** The weight of the usual ratio, in tokens, against the observed ones. */
const usualWeight = 1000
/** Assumed for a model that has not replied yet. */
const usualOutput = 512

/** Predicts the cost of requests to one model from the cost of its past replies. For an upper bound, see `estimateTokens`. */
export class ExpectedLoad {
  #bytes = usualWeight * usualBytesPerToken
  #tokens = usualWeight
  #meanOutput: number | undefined

  /** `inputTokens`: the tokens of the prompt, if counted. */
  of(
    {
      prompt,
      maxOutputTokens = Number.POSITIVE_INFINITY,
      choices,
    }: Pick<GenerationRequest, 'prompt' | 'maxOutputTokens' | 'choices'>,
    inputTokens?: number,
  ): Load {
    const promptTokens = inputTokens ?? this.#promptTokens(prompt)
    const output = Math.min(maxOutputTokens, this.#meanOutput === undefined ? usualOutput : 2 * this.#meanOutput)
    return { promptTokens, tokens: promptTokens + choices * output }
  }

  /** Records the cost of a reply to the request. */
  learn({ prompt, choices }: Pick<GenerationRequest, 'prompt' | 'choices'>, { inputTokens, outputTokens }: Usage): void {
    const output = outputTokens / choices
    this.#meanOutput = this.#meanOutput === undefined ? output : this.#meanOutput * decay + output * (1 - decay)
    // 0 means not counted.
    if (inputTokens === 0 || prompt.type === 'tokens') return
    this.#bytes = this.#bytes * decay + promptBytes(prompt)
    this.#tokens = this.#tokens * decay + inputTokens
  }

  #promptTokens(prompt: Prompt): number {
    return prompt.type === 'tokens' ? prompt.tokens.length : Math.ceil((promptBytes(prompt) * this.#tokens) / this.#bytes)
  }
}
