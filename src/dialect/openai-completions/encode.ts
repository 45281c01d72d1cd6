import type { FinishReason, PromptToken } from '../../contract/event.ts'
import type { GenerationResult } from '../../contract/result.ts'
import { encodeUsage } from '../openai/encode-usage.ts'
import type { ReplyHead } from '../openai/reply-head.ts'
import { countCharacters, LogprobsEncoder } from './encode-logprobs.ts'

/** How the caller wants to be answered. */
export type ReplyStyle = {
  /** What the text of each prompt's choices begins with; empty where the prompt is not echoed. */
  readonly echoes: readonly string[]
  readonly choicesPerPrompt: number
  /** Log-probabilities were asked for. */
  readonly logprobs: boolean
}

const finishReasons: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  // A text has no tools to call; an upstream that says so has ended all the same.
  'tool-calls': 'stop',
  'content-filter': 'content_filter',
  'context-full': 'length',
  refusal: 'content_filter',
  cancelled: 'length',
  'end-of-message': 'stop',
  paused: 'length',
}

export function encodeFinishReason(reason: FinishReason): string {
  return finishReasons[reason]
}

/** What the text of a choice begins with. */
export function echoOf({ echoes, choicesPerPrompt }: ReplyStyle, choice: number): string {
  return echoes[Math.floor(choice / choicesPerPrompt)] ?? ''
}

/** The first of the choices of a choice's prompt. */
export function firstOfPrompt(choice: number, { choicesPerPrompt }: ReplyStyle): number {
  return choice - (choice % choicesPerPrompt)
}

/** The text of a prompt's tokens. Bytes of a character that it ends inside of are not text, and are left out. */
export class PromptText {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })

  push(tokens: readonly PromptToken[]): string {
    return tokens.map(({ bytes }) => this.#decoder.decode(Uint8Array.from(bytes), { stream: true })).join('')
  }
}

/** A whole reply: OpenAI's `text_completion`. */
export function encodeResult({ choices, usage }: GenerationResult, head: ReplyHead, style: ReplyStyle): unknown {
  return {
    id: head.id,
    object: 'text_completion',
    created: head.createdSeconds,
    model: head.model,
    system_fingerprint: head.systemFingerprint,
    choices: choices.map(({ parts, tokens, finish }, index) => {
      const { promptTokens = [] } = choices[firstOfPrompt(index, style)] ?? {}
      const echo = echoOf(style, index) + new PromptText().push(promptTokens)
      const scores = new LogprobsEncoder(countCharacters(echoOf(style, index)))
      return {
        index,
        // Reasoning is part of a text that is merely continued.
        text: echo + parts.map((part) => ('text' in part ? part.text : '')).join(''),
        logprobs: style.logprobs ? scores.encode([...promptTokens, ...tokens]) : null,
        finish_reason: encodeFinishReason(finish.reason),
      }
    }),
    usage: encodeUsage(usage),
  }
}
