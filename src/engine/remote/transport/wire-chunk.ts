import type { EventOf } from '../../../contract/event.ts'
import type { Annotation } from '../../../contract/request.ts'
import type { DraftCounts } from '../../../contract/usage.ts'

/** A reply or a piece of it, independent of the protocol. */
export type WireChunk = {
  readonly choices: readonly WireChoice[]
  readonly usage: WireUsage | undefined
  /** The prompt's tokens, reported before the output. */
  readonly prompt?: Pick<WireUsage, 'inputTokens' | 'cachedTokens'>
  /** llama-server's progress in reading the prompt. */
  readonly progress?: WireProgress | undefined
  /** llama-server's running counts and times. */
  readonly timings: WireTimings | undefined
}

export type WireChoice = {
  readonly index: number
  readonly text: string
  readonly reasoning: string
  /** Ends a block of reasoning, with the server's signature or encrypted content. */
  readonly opaque?: string
  /** Another block begins, so the calls before it are complete. */
  readonly endsCalls?: true
  readonly refusal: string
  readonly annotations: readonly Annotation[]
  readonly calls: readonly WireCall[]
  readonly logprobs: unknown
  /** The id, if the chunk is one token. */
  readonly tokenId: number | undefined
  readonly finishReason: string | undefined
  /** The stop sequence that the server reports, in any form. */
  readonly stop: unknown
}

/** A piece of a tool call. `arguments` is JSON text, even if the server sent an object. */
export type WireCall = {
  readonly index: number
  readonly id: string | undefined
  readonly name: string
  readonly arguments: string
}

type WireProgress = Omit<EventOf<'prompt-progress'>, 'type'>

type WireTimings = {
  readonly inputTokens: number
  readonly cachedTokens: number
  readonly outputTokens: number
  readonly prefillMs: number | undefined
  readonly decodeMs: number | undefined
  /** Absent: it does not draft, or does not say. */
  readonly drafts?: DraftCounts
}

export type WireUsage = {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens: number
}

export const noAnnotations: readonly Annotation[] = []
export const noCalls: readonly WireCall[] = []

const nothing: WireChoice = {
  index: 0,
  text: '',
  reasoning: '',
  refusal: '',
  annotations: noAnnotations,
  calls: noCalls,
  logprobs: undefined,
  tokenId: undefined,
  finishReason: undefined,
  stop: undefined,
}

/** A piece of the only choice of a reply. */
export function pieceOf(given: Partial<WireChoice>): WireChoice {
  return { ...nothing, ...given }
}

export function callPiece(index: number, piece: string): WireChoice {
  return pieceOf({ calls: [{ index, id: undefined, name: '', arguments: piece }] })
}

/** A chunk with these pieces of the only choice. */
export function chunkOf(choices: readonly WireChoice[], usage?: WireUsage): WireChunk {
  return { choices, usage, timings: undefined }
}
