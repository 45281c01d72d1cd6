import type { StreamEncoder } from '../../contract/dialect.ts'
import type { GeneratedToken, GenerationEvent, PromptToken, StartEvent } from '../../contract/event.ts'
import { ChunkTemplate } from '../openai/chunk-template.ts'
import type { ReplyHead } from '../openai/reply-head.ts'
import { withProgress } from '../openai/times/running-fields.ts'
import { toFrameJson } from '../wire/json/frame-json.ts'
import { allText, encodeStream, withoutCalls } from '../wire/stream/encode-stream.ts'
import { echoOf, encodeFinishReason, PromptText, type ReplyStyle } from './encode.ts'
import { countCharacters, LogprobsEncoder } from './encode-logprobs.ts'
import type { CompletionEnd, CompletionLogprobs } from './replies.ts'

type Progress = {
  /** The text to send before the choice's next delta. */
  echo: string
  readonly scores: LogprobsEncoder
  /** Tokens that are not sent yet: those of held-back text go with the next chunk. */
  unsent: (GeneratedToken | PromptToken)[]
  readonly promptText: PromptText
}

/** Encodes events as `text_completion` frames, which have the form of a complete reply. */
export function createChunkEncoder(
  headOf: (start: StartEvent) => ReplyHead,
  style: ReplyStyle & { readonly includeUsage: boolean },
): StreamEncoder {
  const { logprobs } = style
  const template = new ChunkTemplate('text_completion', style.includeUsage)
  const { closing } = template
  const progress: Progress[] = []

  function progressOf(choice: number): Progress {
    const echo = echoOf(style, choice)
    progress[choice] ??= { echo, scores: new LogprobsEncoder(countCharacters(echo)), unsent: [], promptText: new PromptText() }
    return progress[choice]
  }

  function takeScores(state: Progress): CompletionLogprobs | null {
    if (state.unsent.length === 0) return null
    const scores = state.scores.encode(state.unsent)
    state.unsent = []
    return scores
  }

  function chunk(choice: number, delta: string, finishReason: CompletionEnd | null): string {
    const state = progressOf(choice)
    const text = toFrameJson(state.echo + delta)
    state.echo = ''
    const scores = logprobs ? takeScores(state) : null
    const finish = toFrameJson(finishReason)
    return `${template.opening}{"index":${choice},"text":${text},"logprobs":${toFrameJson(scores)},"finish_reason":${finish}}${closing}`
  }

  function keepTokens(event: GenerationEvent): void {
    if (!logprobs || !('tokens' in event) || event.tokens === undefined) return
    const { unsent } = progressOf(event.choice)
    for (const token of event.tokens) unsent.push(token)
  }

  /** Every choice of a prompt starts with its tokens. */
  function echoTokens(first: number, tokens: readonly PromptToken[]): string {
    const choices = Array.from({ length: style.choicesPerPrompt }, (_, index) => first + index)
    return choices
      .map((choice) => {
        const state = progressOf(choice)
        if (logprobs) for (const token of tokens) state.unsent.push(token)
        return chunk(choice, state.promptText.push(tokens), null)
      })
      .join('')
  }

  const encoder = encodeStream({
    ...allText(({ choice, delta }) => chunk(choice, delta, null)),
    ...withoutCalls,
    start: (event) => {
      template.start(headOf(event))
    },
    'prompt-tokens': ({ choice, promptTokens }) => echoTokens(choice, promptTokens),
    'prompt-progress': (event) => withProgress(chunk(0, '', null), event),
    finish: ({ choice, reason }) => chunk(choice, '', encodeFinishReason(reason)),
    usage: (event) => template.usage(event, style.usageTimes),
    error: ({ error }) => template.error(error),
  })

  return {
    encode: (event) => {
      keepTokens(event)
      return encoder.encode(event)
    },
  }
}
