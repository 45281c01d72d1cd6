/** How a chat template supports tool calls in earlier turns, and their results. */
export type CallTraits = {
  /** Tool calls of earlier turns and their results are rendered. */
  readonly toolHistory: boolean
  /** Results are rendered in turns of their own, although calls are not. */
  readonly resultsAlone: boolean
  /** A user turn may follow a tool result, before the assistant has answered it. */
  readonly userAfterTool: boolean
  /** A user turn may follow a call that has no result. */
  readonly userAfterCall: boolean
  /** A result that follows no call, or comes after a later user turn, is rendered. */
  readonly strayResults: boolean
  /** A system message at the start is rendered when calls and results follow. */
  readonly systemBeforeCalls: boolean
  /** Whether a turn of the assistant that opens a conversation is dropped or moved, its text or its calls. */
  readonly losesFirstReply: 'never' | 'beside-tools' | 'always'
  /** Several calls of one turn are rendered, followed by their results; otherwise each turn may have only one. */
  readonly callsTogether: boolean
  /** A turn's calls are rendered when it has text as well. */
  readonly callsBesideText: boolean
  /** The text of a turn with calls may become a turn of its own in front of it, in every round. */
  readonly textBeforeCalls: boolean
  /** Tool-call arguments are printed from data; otherwise they must be passed as JSON text. */
  readonly objectArguments: boolean
  /** Arguments that are not a JSON object are rendered unchanged, as text. */
  readonly anyArguments: boolean
  /** Ids of calls must be nine letters and digits. */
  readonly nineCharacterIds: boolean
  /** The fields, of those probed, whose text is shown as reasoning beside a call. */
  readonly reasoningBesideCall: readonly string[]
}
