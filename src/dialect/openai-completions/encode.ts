import type { FinishReason, PromptToken } from '../../contract/event.ts'
import type { GenerationResult } from '../../contract/result.ts'
import { encodeUsage } from '../openai/encode-usage.ts'
import { encodePromptLogprobs } from '../openai/logprobs/prompt-logprobs.ts'
import type { ReplyHead } from '../openai/reply-head.ts'
import { encodeTimings, type UsageTimes } from '../openai/times/encode-timings.ts'
import { countCharacters, ScoredPrompt } from './encode-logprobs.ts'
import type { Completion, CompletionEnd } from './replies.ts'

export type ReplyStyle = {
  /** The prefix of the text of each prompt's choices; empty where the prompt is not echoed. */
  readonly echoes: readonly string[]
  readonly choicesPerPrompt: number
  /** The reply contains log-probabilities. */
  readonly logprobs: boolean
  /** The reply has those of the prompt, too, whose tokens may be no part of the text. */
  readonly promptLogprobs?: { readonly isTextHidden: boolean }
  readonly usageTimes?: readonly UsageTimes[] | undefined
}

const finishReasons: Readonly<Record<FinishReason, CompletionEnd>> = {
  stop: 'stop',
  length: 'length',
  // A completion has no tools; an upstream that reports calls has stopped nevertheless.
  'tool-calls': 'stop',
  'content-filter': 'content_filter',
  'context-full': 'length',
  refusal: 'content_filter',
  cancelled: 'length',
  'end-of-message': 'stop',
  paused: 'length',
}

export function encodeFinishReason(reason: FinishReason): CompletionEnd {
  return finishReasons[reason]
}

/** The prefix of a choice's text. */
export function echoOf({ echoes, choicesPerPrompt }: ReplyStyle, choice: number): string {
  return echoes[Math.floor(choice / choicesPerPrompt)] ?? ''
}

/** The first choice of the same prompt. */
function firstOfPrompt(choice: number, { choicesPerPrompt }: ReplyStyle): number {
  return choice - (choice % choicesPerPrompt)
}

/** Decodes a prompt's tokens as text, without the bytes of an incomplete character at its end. */
export class PromptText {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })

  push(tokens: readonly PromptToken[]): string {
    return tokens.map(({ bytes }) => this.#decoder.decode(Uint8Array.from(bytes), { stream: true })).join('')
  }
}

/** A complete reply: OpenAI's `text_completion`. */
export function encodeResult({ choices, usage, timings }: GenerationResult, head: ReplyHead, style: ReplyStyle): Completion {
  // All choices of a prompt repeat it.
  const prompts = new Map<number, EncodedPrompt>()
  return {
    id: head.id,
    object: 'text_completion',
    created: head.createdSeconds,
    model: head.model,
    system_fingerprint: head.systemFingerprint,
    choices: choices.map(({ parts, tokens, finish }, index) => {
      const first = firstOfPrompt(index, style)
      const prompt = prompts.get(first) ?? encodePrompt(choices[first]?.promptTokens ?? [], echoOf(style, index), style)
      prompts.set(first, prompt)
      return {
        index,
        // A completion does not separate reasoning from text.
        text: prompt.text + parts.map((part) => ('text' in part ? part.text : '')).join(''),
        logprobs: prompt.scores?.followedBy(tokens) ?? null,
        ...(prompt.logprobs !== undefined && { prompt_logprobs: prompt.logprobs }),
        finish_reason: encodeFinishReason(finish.reason),
      }
    }),
    usage: encodeUsage({ usage, timings }, style.usageTimes),
    timings: encodeTimings({ usage, timings }),
  }
}

type EncodedPrompt = { readonly text: string; readonly scores: ScoredPrompt | undefined; readonly logprobs?: object }

function encodePrompt(reported: readonly PromptToken[], echo: string, { logprobs, promptLogprobs }: ReplyStyle): EncodedPrompt {
  const tokens = promptLogprobs?.isTextHidden === true ? [] : reported
  const scores = logprobs ? new ScoredPrompt(countCharacters(echo), tokens) : undefined
  return {
    text: echo + new PromptText().push(tokens),
    scores,
    ...(promptLogprobs !== undefined && { logprobs: encodePromptLogprobs(reported) }),
  }
}
