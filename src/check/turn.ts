import type { Address } from './send.ts'

/** A captured request of a conversation. */
export type Turn = { readonly path: string; readonly body: Readonly<Record<string, unknown>> }

/** Where a turn is sent; without a model, to the one that it names. */
export type Side = { readonly address: Address; readonly model?: string }

/** Requests of a replay have it: a server that captures them keeps it, and the next replay leaves them out. */
export const replayHeader = 'x-dragoman-replay'

/** How long a model may take for its answer: it may have to be loaded. */
export const answerLimitMs = 300_000
