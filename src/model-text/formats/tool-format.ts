import type { FunctionTool } from '../../contract/request.ts'
import type { CallReader } from './call-writer.ts'
import type { DescribeCalls } from './required-calls.ts'

/**
 * Where a tag counts: `anywhere`; anywhere except directly after a quote or a backtick (`unquoted`); at the beginning of a
 * `line`; or only at the `start` of an answer, also after reasoning or a call.
 */
export type TagPosition = 'anywhere' | 'unquoted' | 'line' | 'start'

/** A tag that may begin calls, and their reader. */
export type Trigger = {
  readonly tag: string
  readonly position: TagPosition
  /**
   * The tag may end reasoning (`parse/thought-calls.ts`): models write it there without closing their reasoning first. `constrained`: they
   * do not mention it there, so grammars also apply after it.
   */
  readonly endsReasoning?: 'parsed' | 'constrained'
  /** The reader starts at the tag, not after it. */
  readonly keep?: boolean
  readonly read: CallReader
}

/** A tag of the format that carries no meaning of its own: it is removed from answers, also in requests without tools. */
export type DroppedTag = {
  readonly tag: string
  readonly position: TagPosition
  /**
   * Dropped only as the `first` thing of a turn, before any text and any call; only as the `last`, followed by nothing but other such tags
   * and white space; as a `header`, with the white space after it; or only after the tag that it closes was dropped. Otherwise it is text.
   */
  readonly only?: 'first' | 'last' | 'header' | { readonly closes: string }
  /** It surrounds calls: it is text if these are, because no tool may be called. */
  readonly ofCalls?: true
  /** The answer begins here, even if the model did not close its reasoning. */
  readonly beginsAnswer?: true
}

export function answerBegins({ droppedTags = [] }: ToolFormat): readonly string[] {
  return droppedTags.filter(({ beginsAnswer }) => beginsAnswer === true).map(({ tag }) => tag)
}

/** How one family of models writes its calls. */
export type ToolFormat = {
  /** The tags that may begin calls of these tools. */
  triggers(tools: readonly FunctionTool[]): readonly Trigger[]
  readonly droppedTags?: readonly DroppedTag[]
  /** Answers are rows of messages, each with a header for its kind; triggers and dropped tags do not apply. */
  readonly messages?: MessageSyntax
  /** The text between two parts of an answer that is a row of messages which tags begin. */
  readonly betweenMessages?: string
  /** Texts of special tokens that the engine must include in the raw text. */
  readonly visibleTokens: readonly string[]
  /** The canonical spelling of calls, which is always read back: grammars for required calls are made from it. */
  readonly describeCalls: DescribeCalls
}

/** The delimiters of answers that are rows of messages, and the meaning of headers. */
export type MessageSyntax = {
  readonly start: string
  /** Texts that begin a header even inside a body that the model did not end. */
  readonly inBody: readonly string[]
  /** The delimiter between a header and its body. */
  readonly body: string
  /** Delimiters that end a body. */
  readonly ends: readonly string[]
  /** Texts that begin a header; the `start` of the first message is in the prompt. */
  readonly headerStarts: readonly string[]
  /** The kind of a message, by its header. */
  readHeader(header: string): MessageKind
  /** A reader for the body of a message that calls this tool. */
  readonly readCall: (toolName: string) => CallReader
}

/** The content of a message's body. A call of a tool that may not be called is text. */
export type MessageKind = { readonly type: 'text' | 'reasoning' } | { readonly type: 'call'; readonly name: string }
