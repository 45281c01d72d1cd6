import type { Tool } from '../../contract/request.ts'
import type { CallReader } from './call-writer.ts'
import type { RequiredCalls } from './required-calls.ts'

/**
 * Where a mark counts: `anywhere`; not directly after a quote or a backtick (`unquoted`); at the beginning of a `line`; or only
 * at the `start` of the answer, or of what follows reasoning or a call.
 */
export type TagPosition = 'anywhere' | 'unquoted' | 'line' | 'start'

/** A text that may begin a call. */
export type Trigger = {
  readonly tag: string
  readonly position: TagPosition
  /** Models make this call while they reason, without closing their reasoning. */
  readonly endsReasoning?: boolean
  /** The mark is part of the call: the reader begins with it, not after it. */
  readonly keep?: boolean
  readonly read: CallReader
}

/** A text that belongs to the format and says nothing by itself: it is left out, also where no calls are looked for. */
export type DroppedTag = {
  readonly tag: string
  readonly position: TagPosition
  /**
   * When alone it does: as the `first` thing of a turn, before any text and any call; as the `last`, with no more than its like
   * and white space behind it; or after another mark was left out that it closes.
   */
  readonly only?: 'first' | 'last' | { readonly closes: string }
}

/** How one family of models writes its calls. */
export type ToolFormat = {
  /** What may begin a call of one of these tools. */
  triggers(tools: readonly Tool[]): readonly Trigger[]
  readonly droppedTags?: readonly DroppedTag[]
  /** The whole answer is a row of messages, each with a header that says what it is. */
  readonly messages?: MessageSyntax
  /** Texts of special tokens that the engine must let through into the raw text. */
  readonly visibleTokens: readonly string[]
  /** The canonical spelling of calls, which is always read back: grammars for required calls are made from it. */
  describeCalls(tools: readonly Tool[], options: { readonly parallel: boolean }): RequiredCalls
}

/** The marks of answers that are rows of messages, and what a header means. */
export type MessageSyntax = {
  readonly start: string
  /** Ends a header. */
  readonly body: string
  /** End a body. */
  readonly ends: readonly string[]
  /** What a header may begin with, where the first message's own mark was in the prompt. */
  readonly headerStarts: readonly string[]
  /** What a message is, by its header: its call is to `call` by name, or it is `dropped`: said to nobody. */
  readHeader(header: string): MessageKind
  /** Reads the body of a message that is a call. */
  readonly readCall: (toolName: string) => CallReader
}

export type MessageKind = { readonly type: 'text' | 'reasoning' | 'dropped' } | { readonly type: 'call'; readonly name: string }
