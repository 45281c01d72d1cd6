import type { PrefixKey } from './prefix-memory.ts'

/** A prefix of a prompt, and its place in the conversation. */
export type AffinityKey = PrefixKey & {
  /** The length of the prefix as a part of the prompt, from 0 to 1. Absent for a caller's key, whose prefix is unknown. */
  readonly share?: number
  /** The last request of the conversation ended here. */
  readonly isPrevious?: true
  /** Shorter than the last request of the conversation, or shared by others: other processes may have sent longer ones elsewhere. */
  readonly isOld?: true
  /** The end of the first question: all requests of the conversation have it. */
  readonly isRoot?: true
  /** A long part of the system prompt. */
  readonly isGroup?: true
  /** The beginning of a long first question, which may be a document. */
  readonly isOpening?: true
}
