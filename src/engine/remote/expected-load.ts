import type { Usage } from '../../contract/event.ts'
import type { GenerationRequest, Prompt } from '../../contract/request.ts'
import { promptBytes } from './estimate-tokens.ts'

type Load = {
  /** The likely tokens of the prompt. */
  readonly promptTokens: number
  /** With those of the output. */
  readonly tokens: number
}

/** How much of what is known remains after another reply. */
const decay = 0.98
const usualBytesPerToken = 4
/** What the usual ratio counts as, in tokens, beside what was seen. */
const usualWeight = 1000
/** The output of a model that has not replied yet. */
const usualOutput = 512

/** What requests to one model are likely to cost, by what its replies have cost. A bound of it is `estimateTokens`. */
export class ExpectedLoad {
  #bytes = usualWeight * usualBytesPerToken
  #tokens = usualWeight
  #meanOutput: number | undefined

  /** `inputTokens`: the tokens of the prompt, where they were counted. */
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

  /** What a reply to the request has cost. */
  learn({ prompt, choices }: Pick<GenerationRequest, 'prompt' | 'choices'>, { inputTokens, outputTokens }: Usage): void {
    const output = outputTokens / choices
    this.#meanOutput = this.#meanOutput === undefined ? output : this.#meanOutput * decay + output * (1 - decay)
    // 0: it was not counted.
    if (inputTokens === 0 || prompt.type === 'tokens') return
    this.#bytes = this.#bytes * decay + promptBytes(prompt)
    this.#tokens = this.#tokens * decay + inputTokens
  }

  #promptTokens(prompt: Prompt): number {
    return prompt.type === 'tokens' ? prompt.tokens.length : Math.ceil((promptBytes(prompt) * this.#tokens) / this.#bytes)
  }
}
